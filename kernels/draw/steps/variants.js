// Sets up every figure with this key: a control for each choice above its table, in place of the
// slider of its stepper. Each control is [name, texts of its options, which at first, kind]; of each
// variant, in the order of the last control's options, `numbers` has the column of the table, or
// why the kernel refuses it, and `pictures` the frame of each access, or -1.
(key, controls, numbers, pictures, accesses, verdicts) => {
  const make = (name, css, attributes) => {
    const element = Object.assign(document.createElement(name), attributes);
    element.style.cssText = css;
    element.dataset.lmSuppressShortcuts = "true";  // Jupyter's own, such as arrows
    return element;
  };
  const makers = {
    range: (name, texts) => make("input", "width:100%;min-width:0;accent-color:#1a7abf",
      { type: "range", min: 0, max: texts.length - 1, ariaLabel: name }),
    select: (name, texts) => {
      const select = make("select", "font:inherit;grid-column:span 2;justify-self:start;" +
        "max-width:100%;background:Canvas;color:CanvasText;border:1px solid;border-radius:4px",
        { ariaLabel: name });
      select.append(...texts.map((text) => new Option(text)));
      return select;
    },
  };
  const setUp = (holder, slider) => {
    const box = make("div", "display:grid;gap:.3em .8em;align-items:center;margin:.3em 0;" +
      "grid-template-columns:max-content minmax(0,16em) minmax(2em,max-content)");
    box.className = "kernels-controls";
    const cells = holder.querySelectorAll("td"), picture = holder.querySelector("figure");
    const words = make("output", "display:block;font-weight:600;margin:.6em 0");
    const chosen = (input) => input.selectedIndex ?? Number(input.value);
    const show = () => {
      const at = controls.reduce((sum, [, texts], n) => sum * texts.length + chosen(inputs[n]), 0);
      const frame = pictures[at][chosen(inputs[controls.length])];
      const refused = typeof numbers[at] === "string";
      words.textContent = refused ? numbers[at] : frame < 0 ? "There is no such access." : "";
      picture.style.display = frame < 0 ? "none" : "";
      const column = [frame < 0 ? "–" : verdicts[frame], ...(refused ? [] : numbers[at])];
      for (const [n, cell] of cells.entries()) cell.textContent = column[n] ?? "–";
      if (frame < 0) return;
      slider.value = frame;
      slider.oninput();
    };
    const inputs = [...controls, ["access", accesses, 0, "select"]].map((one) => {
      const [name, texts, first, kind] = one;
      const input = makers[kind](name, texts), value = make("span", "font-weight:600");
      const say = () => {
        input.setAttribute("aria-valuetext", value.textContent = texts[input.value]);
      };
      input[kind === "range" ? "value" : "selectedIndex"] = first;
      box.append(make("span", "", { textContent: name, ariaHidden: true }), input);
      if (kind === "range") {
        box.append(value);
        say();
      }
      input.oninput = () => {
        if (kind === "range") say();
        show();
      };
      return input;
    });
    slider.parentElement.style.display = "none";
    holder.prepend(box);
    picture.before(words);
    show();
  };
  for (const holder of document.querySelectorAll(`[data-variants="${key}"]`)) {
    const slider = holder.querySelector("[data-stepper] input[type=range]");
    if (slider && !holder.querySelector("select")) setUp(holder, slider);
  }
}
