// Runs the page's step, and its exercises, in the reader's browser. Nothing is loaded before a click,
// and everything from this site; live_worker.js runs Python with the book's kernels.
(() => {
  const base = new URL(".", document.currentScript.src);
  let worker, ready, refuse, told;
  const waiting = new Map();

  const make = (tag, about = {}, ...inside) => {
    const one = Object.assign(document.createElement(tag), about);
    one.append(...inside);
    return one;
  };
  const megabytes = (bytes) => (bytes / 1e6).toFixed(1);

  // The worker, once it can run something; `told` is told of its progress.
  const begin = () => {
    ready ??= new Promise((resolve, reject) => {
      refuse = reject;
      worker = new Worker(new URL("live_worker.js", base));
      worker.onerror = () => reject(new Error("the files of Python cannot be loaded"));
      worker.onmessage = ({ data }) => {
        if (data.total) told?.(data.loaded, data.total);
        else if (data.ready) resolve();
        else if (data.broken) reject(new Error(data.broken));
        else {
          waiting.get(data.id)?.resolve(data);
          waiting.delete(data.id);
        }
      };
    });
    return ready;
  };
  const end = (why) => {
    worker?.terminate();
    worker = ready = undefined;
    refuse?.(new Error(why));
    prepared.clear();
    for (const one of waiting.values()) one.reject(new Error(why));
    waiting.clear();
  };
  let last = 0;
  const ask = async (code) => {
    await begin();
    const id = ++last;
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      worker.postMessage({ id, code });
    });
  };
  const prepared = new Set(); // code that has run in this worker and need not again

  // Code to change and run, with what it shows under it. `before` are cells that it needs.
  const editor = (code, before = [], ran = () => {}) => {
    const text = make("textarea", { value: code, spellcheck: false, ariaLabel: "Python" });
    const run = make("button", { type: "button", textContent: "Run" });
    const stop = make("button", { type: "button", textContent: "Stop", disabled: true });
    const bar = make("progress", { hidden: true, ariaLabel: "Loading" });
    const status = make("span", { role: "status" });
    const shown = make("div", { className: "live-output" });
    const fit = () => (text.rows = text.value.split("\n").length + 1);
    const start = async () => {
      run.disabled = true;
      stop.disabled = false;
      status.textContent = "Runs …";
      told = (loaded, total) => {
        bar.hidden = loaded >= total;
        Object.assign(bar, { max: total, value: loaded });
        const so_far = `${megabytes(loaded)} of ${megabytes(total)} MB from this site`;
        status.textContent = bar.hidden ? "Starts Python …" : so_far;
      };
      try {
        for (const cell of before.filter((one) => !prepared.has(one))) {
          const { failed, html } = await ask(cell);
          if (failed) throw new Error(make("div", { innerHTML: html }).textContent);
          prepared.add(cell);
        }
        status.textContent = "Runs …";
        const { html, ms, failed } = await ask(text.value);
        shown.innerHTML = html;
        for (const old of shown.querySelectorAll("script"))
          old.replaceWith(make("script", { textContent: old.textContent }));
        status.textContent = `${(ms / 1000).toFixed(1)} s in this browser`;
        ran(failed, shown);
      } catch (error) {
        if (waiting.size === 0 && ready) ready.catch(() => end("")); // try again at the next click
        status.textContent = error.message;
      }
      bar.hidden = true;
      run.disabled = false;
      stop.disabled = true;
    };
    run.addEventListener("click", start);
    stop.addEventListener("click", () => end("Stopped. The next run starts Python anew."));
    text.addEventListener("input", fit);
    fit();
    const row = make("div", { className: "live-row" }, run, stop, bar, status);
    return Object.assign(make("div", { className: "live-cell" }, text, row, shown), {
      take: (other) => {
        text.value = other;
        fit();
      },
    });
  };

  // The step of the page, at sizes and with variants to choose.
  const DOES = {
    multiply: (M, N, K) =>
      `A, B, _ = kernels.inputs(${M}, ${N}, ${K})\nC = step(A, B)\n` +
      'print(f"largest difference from NumPy: {abs(C - A @ B).max():.1e}")',
    check: () => "step.check()",
    trace: (M, N, K) => `step.trace(${M}, ${N}, ${K})`,
    sanitize: (M, N, K) =>
      `print(*step.sanitize(${M}, ${N}, ${K}) or ["no findings"], sep="\\n")`,
  };
  const panel = (page) => {
    const options = page.labels.map((label) => make("option", { textContent: label }));
    const variant = make("select", { ariaLabel: "Variant" }, ...options);
    const does = Object.keys(DOES).map((name) => make("option", { textContent: name }));
    const what = make("select", { ariaLabel: "What to do" }, ...does);
    const sides = [..."MNK"].map((name) =>
      make("input", { type: "number", min: 1, max: 1024, value: 128, ariaLabel: name }),
    );
    const code = () =>
      `step = kernels.step("${variant.value}")\n` + DOES[what.value](...sides.map((x) => x.value));
    const cell = editor(code());
    const labelled = sides.map((side, n) => make("label", {}, `${"MNK"[n]} `, side));
    const choose = make("div", { className: "live-row" }, variant, what, ...labelled);
    choose.addEventListener("input", () => cell.take(code()));
    const note = make("p", {
      textContent:
        `Runs the same kernel, in the project's interpreter: ${megabytes(page.bytes)} MB are ` +
        "loaded at the first run, and nothing is sent. Variants and the exercises' code come " +
        "compiled; a kernel that you change needs the compiler of the notebook, in Jupyter.",
    });
    return make("section", { className: "live", ariaLabel: "Run here" }, note, choose, cell);
  };

  // An exercise: its cell to change, the solution to take, and its hint after two misses.
  const cells = (all) =>
    [...document.querySelectorAll("article div.cell")].flatMap((cell) => {
      const code = cell.querySelector(".cell_input pre");
      return code && all(cell) ? [[cell, code.textContent.trimEnd()]] : [];
    });
  const exercises = () => {
    const setup = cells(() => true)[1][1]; // after the one that finds the book
    for (const [cell, code] of cells((one) => one.classList.contains("tag_starter"))) {
      const named = (name) => {
        let one = cell.nextElementSibling;
        while (one && one.querySelector(":scope > summary")?.textContent !== name)
          one = one.matches("div.cell, section:not(.live)") ? null : one.nextElementSibling;
        return one;
      };
      const solution = named("Solution")?.querySelector("pre")?.textContent.trimEnd();
      let misses = 0;
      const ran = (failed, shown) => {
        misses += failed || shown.textContent.includes("✗");
        if (misses === 2) named("Hint")?.setAttribute("open", "");
      };
      const open = make("button", { type: "button", className: "evidence-control" });
      open.textContent = "Solve it here";
      open.addEventListener("click", () => {
        const here = editor(code, [setup], ran);
        if (solution) {
          const take = make("button", { type: "button", textContent: "Take the solution" });
          take.addEventListener("click", () => here.take(solution));
          here.querySelector(".live-row").append(take);
        }
        open.replaceWith(make("section", { className: "live", ariaLabel: "Exercise" }, here));
      });
      cell.after(open);
    }
  };

  addEventListener("DOMContentLoaded", () => {
    const data = document.getElementById("live");
    if (!data) return;
    const page = JSON.parse(data.textContent);
    const open = make("button", { type: "button", className: "evidence-control" });
    open.textContent = "Run it here";
    open.addEventListener("click", () => {
      if (page.bytes) return open.replaceWith(panel(page));
      open.replaceWith(make("p", { className: "live", textContent: page.missing }));
    });
    document.querySelector("article h1").after(open);
    if (page.bytes) exercises();
  });
})();
