// Sets up every figure with this key: the drawing of the <img> goes into the page itself, in the
// page's colours, with controls below it. Each slot is [numbers of nodes, attribute, values] or
// [numbers, attribute, distinct values, which of them in each frame]; the attribute "" stands for
// the text of a node, "<" for what is inside it.
(key, labels, slots) => {
  const make = (name, css, attributes) => {
    const element = Object.assign(document.createElement(name), attributes);
    element.style.cssText = css;
    return element;
  };
  const put = (node, name, value) => {
    if (name === "") node.textContent = value;
    else if (name === "<") node.innerHTML = value;
    else if (value === null) node.removeAttribute(name);
    else node.setAttribute(name, value);
  };
  const read = (img) => {
    const bytes = Uint8Array.from(atob(img.src.split(",")[1]), (c) => c.charCodeAt(0));
    const text = new TextDecoder().decode(bytes);
    return new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  };
  const setUp = (holder, img) => {
    const svg = read(img);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", img.alt);
    svg.style.cssText = "max-width:100%;height:auto;display:block";
    const nodes = [svg, ...svg.querySelectorAll("*")];
    const look = "font:inherit;color:inherit;background:none;cursor:pointer;padding:0 .7em;" +
      "border:1px solid currentColor;border-radius:4px;line-height:1.8";
    const back = make("button", look, { type: "button", textContent: "◂", title: "previous" });
    const next = make("button", look, { type: "button", textContent: "▸", title: "next" });
    const last = labels.length - 1;
    const range = make("input", "flex:1;min-width:0;accent-color:#1a7abf",
      { type: "range", min: 0, max: last, value: 0 });
    range.setAttribute("aria-label", "step");
    const label = make("output",
      "display:block;min-height:1.5em;margin-bottom:.5em;font-weight:600");
    const show = (step) => {
      const k = Math.min(Math.max(step, 0), last);
      for (const [numbers, name, values, order] of slots) {
        for (const n of numbers) put(nodes[n], name, values[order ? order[k] : k]);
      }
      range.value = k;
      range.setAttribute("aria-valuetext", labels[k]);
      label.textContent = labels[k];
    };
    const row = make("div", "display:flex;gap:.6em;align-items:center;margin:.3em 0");
    row.append(back, range, next);
    row.dataset.lmSuppressShortcuts = "true";      // JupyterLab's own, such as arrows
    row.onkeydown = (event) => {
      const k = Number(range.value);
      const target = { ArrowLeft: k - 1, ArrowDown: k - 1, ArrowRight: k + 1, ArrowUp: k + 1,
        PageDown: k - 4, PageUp: k + 4, Home: 0, End: last }[event.key];
      if (target === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      show(target);
    };
    back.onclick = () => show(Number(range.value) - 1);
    next.onclick = () => show(Number(range.value) + 1);
    range.oninput = () => show(Number(range.value));
    holder.replaceChildren(svg, row, label);
    show(0);
  };
  for (const holder of document.querySelectorAll(`[data-stepper="${key}"]`)) {
    const img = holder.querySelector("img");
    if (img) setUp(holder, img);                   // else another script with this key did it
  }
}
