// Sets up every figure with this key: its drawings get controls below them, which all follow. A
// panel is [labels, slots], in the order of the drawings; one with fewer frames than another is
// moved in proportion. Each slot is [numbers of nodes, attribute, values] or [numbers, attribute,
// distinct values, which of them in each frame]; the attribute "" stands for the text of a node,
// "<" for what is inside it. A drawing that is an <img> goes into the page itself, in the page's
// colours.
(key, what, panels, titles) => {
  const last = Math.max(...panels.map(([labels]) => labels.length)) - 1;
  const place = (k, labels) => Math.round(k / (last || 1) * (labels.length - 1));
  const make = (name, css, attributes) => {
    const element = Object.assign(document.createElement(name), attributes);
    element.style.cssText = css;
    element.dataset.lmSuppressShortcuts = "true";  // Jupyter's own, such as arrows
    return element;
  };
  const put = (node, name, value) => {
    if (name === "") node.textContent = value;
    else if (name === "<") node.innerHTML = value;
    else if (value === null) node.removeAttribute(name);
    else node.setAttribute(name, value);
  };
  const drawing = (box) => {
    const img = box.querySelector("img");
    if (!img) return box.querySelector("svg");
    const bytes = Uint8Array.from(atob(img.src.split(",")[1]), (c) => c.charCodeAt(0));
    const text = new TextDecoder().decode(bytes);
    const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", img.alt);
    svg.style.cssText = img.style.cssText;
    img.replaceWith(svg);
    return svg;
  };
  const panel = (box, n) => {
    const svg = drawing(box), alt = svg.getAttribute("aria-label"), [labels, slots] = panels[n];
    const name = (at) => svg.setAttribute("aria-label", `${alt} ${labels[at]}.`);
    let nodes;                                     // found when they are first to change
    name(0);
    return (k) => {
      const at = place(k, labels);
      nodes ??= [svg, ...svg.querySelectorAll("*")];
      for (const [numbers, name, values, order] of slots) {
        for (const i of numbers) put(nodes[i], name, values[order ? order[at] : at]);
      }
      name(at);
    };
  };
  const says = (k) => panels.map(([labels], n) =>
    (titles.length ? `${titles[n]}: ` : "") + labels[place(k, labels)]);
  const button = (title, textContent) => make("button", "font:inherit;color:inherit;" +
    "background:none;padding:0;width:3.2em;border:1px solid currentColor;" +
    "border-radius:4px;line-height:1.8", { type: "button", title, ariaLabel: title, textContent });
  const setUp = (holder) => {
    const drawn = [...holder.querySelectorAll(".kernels-box")].map(panel);
    const back = button("previous", "◂"), next = button("next", "▸");
    const play = button("play", "▶\ufe0e");
    const range = make("input", "flex:1;min-width:0;accent-color:#1a7abf",
      { type: "range", min: 0, max: last, value: 0 });
    range.setAttribute("aria-label", what);
    const label = make("output", "display:block;min-height:1.5em;margin-bottom:.5em;" +
      "font-weight:600;white-space:pre-line");
    let timer = 0;
    const enable = (element, enabled) => {
      const focused = element === document.activeElement;
      element.disabled = !enabled;
      element.style.opacity = enabled ? 1 : 0.4;
      if (focused && !enabled) range.focus();      // or the keys would go nowhere
    };
    const say = (k) => {
      const words = says(k);
      range.value = k;
      range.setAttribute("aria-valuetext", words.join("; "));
      // A slider that has the focus says its value itself, and a film is not to be read out.
      label.ariaLive = timer || document.activeElement === range ? "off" : "polite";
      label.textContent = words.join("\n");
      enable(back, k > 0);
      enable(next, k < last);
    };
    const show = (step) => {
      const k = Math.min(Math.max(step, 0), last);
      for (const one of drawn) one(k);
      say(k);
    };
    const move = (by) => show(Number(range.value) + by);
    const stop = () => {
      timer = clearInterval(timer);
      play.title = play.ariaLabel = "play";
      play.textContent = "▶\ufe0e";
      for (const kind of ["keydown", "pointerdown"]) removeEventListener(kind, touched, true);
    };
    const touched = (event) => event.composedPath()[0] === play || stop();
    play.onclick = () => {
      if (timer) return stop();
      timer = setInterval(() => {
        if (!holder.isConnected) return stop();
        move(1);
        if (Number(range.value) === last) stop();
      }, 900);
      play.title = play.ariaLabel = "pause";
      play.textContent = "❚❚";
      for (const kind of ["keydown", "pointerdown"]) addEventListener(kind, touched, true);
      if (Number(range.value) === last) show(0);
    };
    const row = make("div", "display:flex;gap:.6em;align-items:center;margin:.3em 0");
    row.className = "kernels-controls";
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) row.append(play);
    row.append(back, range, next);
    row.onkeydown = (event) => {
      const k = Number(range.value);
      const target = { ArrowLeft: k - 1, ArrowDown: k - 1, ArrowRight: k + 1, ArrowUp: k + 1,
        PageDown: k - 4, PageUp: k + 4, Home: 0, End: last }[event.key];
      if (target === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      stop();
      show(target);
    };
    back.onclick = () => move(-1);
    next.onclick = () => move(1);
    range.oninput = () => show(Number(range.value));
    holder.append(row, label);
    say(0);
  };
  for (const holder of document.querySelectorAll(`[data-stepper="${key}"]`)) {
    if (!holder.querySelector("input")) setUp(holder);  // or another script with this key did it
  }
}
