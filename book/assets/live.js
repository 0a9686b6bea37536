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
  const chosen = (names, about) =>
    make("select", about, ...names.map((name) => make("option", { textContent: name })));

  // CodeMirror, with the first editor; where it cannot be loaded, a plain text area stays.
  let dressed;
  const script = (name) =>
    new Promise((resolve, reject) => {
      const src = new URL(`live/${name}`, base);
      document.head.append(make("script", { src, onload: resolve, onerror: reject }));
    });
  const dress = () => {
    dressed ??= (async () => {
      const href = new URL("live/codemirror.css", base);
      document.head.append(make("link", { rel: "stylesheet", href }));
      await script("codemirror.js");
      await Promise.all([script("python.js"), script("matchbrackets.js")]);
    })();
    return dressed;
  };
  // Text to change in `area`, with `get` and `set`.
  const changeable = (area) => {
    let mirror;
    const fit = () => (area.rows = Math.min(40, area.value.split("\n").length + 1));
    area.addEventListener("input", fit);
    fit();
    const mode = area.ariaLabel === "Python" ? "python" : null;
    const options = { mode, lineNumbers: true, matchBrackets: true, indentUnit: 4 };
    options.viewportMargin = mode ? Infinity : 10; // all of Python, of PTX what is seen
    options.extraKeys = { Tab: false, "Shift-Tab": false }; // these leave it, as any field
    options.screenReaderLabel = area.ariaLabel;
    dress().then(
      () => (mirror = CodeMirror.fromTextArea(area, options)),
      () => {},
    );
    return {
      get: () => (mirror ? mirror.getValue() : area.value),
      set: (text) => {
        area.value = text;
        mirror?.setValue(text);
        fit();
      },
    };
  };

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
  // A browser may keep a page that was left, and would keep its Python, of 100 MB, with it.
  addEventListener("pagehide", () => end("Stopped: the page was left"));
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

  // Code to change and run, with what it shows under it. `before` gives the cells that it needs.
  const editor = (code, before = () => [], ran = () => {}) => {
    const area = make("textarea", { value: code, spellcheck: false, ariaLabel: "Python" });
    const run = make("button", { type: "button", textContent: "Run" });
    const stop = make("button", { type: "button", textContent: "Stop", disabled: true });
    const bar = make("progress", { hidden: true, ariaLabel: "Loading" });
    const status = make("span", { role: "status" });
    const shown = make("div", { className: "live-output" });
    const row = make("div", { className: "live-row" }, run, stop, bar, status);
    const all = make("div", { className: "live-cell" }, area, row, shown);
    const text = changeable(area);
    const asked = async (cell) => {
      const { failed, html } = await ask(cell);
      if (failed) throw new Error(make("div", { innerHTML: html }).textContent);
      return html;
    };
    const busy = async (work) => {
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
        status.textContent = await work();
      } catch (error) {
        if (waiting.size === 0 && ready) ready.catch(() => end("")); // try again at the next click
        status.textContent = error.message;
      }
      bar.hidden = true;
      run.disabled = false;
      stop.disabled = true;
    };
    const start = async () => {
      for (const cell of before().filter((one) => !prepared.has(one))) {
        await asked(cell);
        prepared.add(cell);
      }
      status.textContent = "Runs …";
      const { html, ms, failed } = await ask(text.get());
      shown.innerHTML = html;
      for (const old of shown.querySelectorAll("script"))
        old.replaceWith(make("script", { textContent: old.textContent }));
      ran(failed, shown);
      return `${(ms / 1000).toFixed(1)} s in this browser`;
    };
    run.addEventListener("click", () => busy(start));
    stop.addEventListener("click", () => end("Stopped. The next run starts Python anew."));
    return Object.assign(all, { take: text.set, asked, busy });
  };

  // The step of the page, at sizes and with variants to choose, or with its PTX to change.
  const does = (arrays) => {
    const trace = (M, N, K) => `step.trace(${M}, ${N}, ${K})`;
    const drawn = (what, array) => (...sides) =>
      `from kernels import draw\ndraw.${what}(${trace(...sides)}, "${array}")`;
    return {
      multiply: (M, N, K) =>
        `A, B, _ = kernels.inputs(${M}, ${N}, ${K})\nC = step(A, B)\n` +
        'print(f"largest difference from NumPy: {abs(C - A @ B).max():.1e}")',
      check: () => "step.check()",
      trace,
      sanitize: (M, N, K) =>
        `print(*step.sanitize(${M}, ${N}, ${K}) or ["no findings"], sep="\\n")`,
      ...Object.fromEntries(arrays.map((name) => [`banks of ${name}`, drawn("banks", name)])),
      "sectors of A": drawn("coalescing", "A"),
      "sectors of B": drawn("coalescing", "B"),
      "who stores C": drawn("thread_mapping", "C"),
    };
  };
  const panel = (page) => {
    const variant = chosen(page.labels, { ariaLabel: "Variant" });
    const work = does(page.arrays);
    const what = chosen(Object.keys(work), { ariaLabel: "What to do" });
    const sides = [..."MNK"].map((name) =>
      make("input", { type: "number", min: 1, max: 1024, value: 128, ariaLabel: name }),
    );
    const ptx = make("input", { type: "checkbox" });
    const own = make("div", { className: "live-ptx", hidden: true });
    let assembly; // what was made changeable in `own`
    const changed = () => (ptx.checked && assembly ? ".edit(ptx=PTX)" : "");
    const code = () =>
      `step = kernels.step("${variant.value}")${changed()}\n` +
      work[what.value](...sides.map((x) => x.value));
    const before = () => (changed() ? [`PTX = ${JSON.stringify(assembly.get())}`] : []);
    const cell = editor(code(), before);
    const labelled = sides.map((side, n) => make("label", {}, `${"MNK"[n]} `, side));
    const change = make("label", {}, ptx, " change its PTX");
    const choose = make("div", { className: "live-row" }, variant, what, ...labelled, change);
    const shows = async (event) => {
      own.hidden = !ptx.checked;
      if (ptx.checked && (!assembly || event.target === variant))
        await cell.busy(async () => {
          const html = await cell.asked(`print(kernels.step("${variant.value}").kernel.ptx)`);
          const value = make("div", { innerHTML: html }).textContent.trimEnd();
          own.replaceChildren(make("textarea", { value, spellcheck: false, ariaLabel: "PTX" }));
          assembly = changeable(own.firstChild);
          return "Its PTX stands above the code: change a line, and run.";
        });
      cell.take(code());
    };
    choose.addEventListener("input", shows);
    const note = make("p", {
      textContent:
        `Runs the same kernel, in the project's interpreter: ${megabytes(page.bytes)} MB are ` +
        "loaded at the first run, and nothing is sent. Variants and the exercises' code come " +
        "compiled, and PTX needs no compiler; CUDA C++ that you change does, in Jupyter.",
    });
    return make("section", { className: "live", ariaLabel: "Run here" }, note, choose, own, cell);
  };

  // An exercise: its cell to change, other answers and the solution to take, and its hint after two
  // misses.
  const STARTER = "as it stands", SOLUTION = "the solution";
  const cells = (all) =>
    [...document.querySelectorAll("article div.cell")].flatMap((cell) => {
      const code = cell.querySelector(".cell_input pre");
      return code && all(cell) ? [[cell, code.textContent.trimEnd()]] : [];
    });
  const exercises = (page) => {
    const setup = cells(() => true)[1][1]; // after the one that finds the book
    const starters = cells((one) => one.classList.contains("tag_starter"));
    for (const [n, [cell, code]] of starters.entries()) {
      const named = (name) => {
        let one = cell.nextElementSibling;
        while (one && one.querySelector(":scope > summary")?.textContent !== name)
          one = one.matches("div.cell, section:not(.live)") ? null : one.nextElementSibling;
        return one;
      };
      const answers = { [STARTER]: code };
      for (const [title, changes] of page.tries[n] ?? [])
        answers[title] = changes.reduce((text, [old, put]) => text.replace(old, () => put), code);
      const solution = named("Solution")?.querySelector("pre")?.textContent.trimEnd();
      if (solution) answers[SOLUTION] = solution;
      let misses = 0;
      const ran = (failed, shown) => {
        misses += failed || shown.textContent.includes("✗");
        if (misses === 2) named("Hint")?.setAttribute("open", "");
      };
      const open = make("button", { type: "button", className: "evidence-control" });
      open.textContent = "Solve it here";
      open.addEventListener("click", () => {
        const here = editor(code, () => [setup], ran);
        const answer = chosen(Object.keys(answers), { ariaLabel: "Answer" });
        answer.addEventListener("input", () => here.take(answers[answer.value]));
        const row = make("div", { className: "live-row" }, make("label", {}, "Answer ", answer));
        open.replaceWith(make("section", { className: "live", ariaLabel: "Exercise" }, row, here));
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
    if (page.labels.length) document.querySelector("article h1").after(open);
    if (page.bytes) exercises(page);
  });
})();
