// What a term means, beside its link: under the pointer, with the focus, or at a first tap, after
// which a second follows the link. Escape takes it away.
addEventListener("DOMContentLoaded", () => {
  const tip = document.createElement("div");
  let shown, tapped, leaving;
  const hide = () => {
    shown?.removeAttribute("aria-describedby");
    shown = undefined;
    tip.hidden = true;
  };
  const place = () => {
    if (!shown) return;
    const line = shown.getClientRects()[0]; // the first, if the link goes on in the next line
    const rest = document.documentElement.clientWidth - tip.offsetWidth - 8;
    const under = line.bottom + tip.offsetHeight + 4 <= innerHeight;
    tip.style.left = `${Math.max(8, Math.min(line.left, rest))}px`;
    tip.style.top = `${under ? line.bottom + 4 : line.top - tip.offsetHeight - 4}px`;
  };
  const show = (link) => {
    clearTimeout(leaving);
    hide();
    shown = link;
    tip.textContent = link.dataset.term;
    tip.hidden = false;
    link.setAttribute("aria-describedby", tip.id);
    place();
  };
  const leave = () => {
    clearTimeout(leaving);
    leaving = setTimeout(hide, 200); // time to move the pointer onto it
  };
  Object.assign(tip, { className: "term-tip", id: "term-tip", role: "tooltip", hidden: true });
  tip.addEventListener("pointerenter", () => clearTimeout(leaving));
  tip.addEventListener("pointerleave", leave);
  for (const link of document.querySelectorAll("a[data-term]")) {
    link.addEventListener("pointerenter", (e) => e.pointerType !== "touch" && show(link));
    link.addEventListener("pointerleave", (e) => e.pointerType !== "touch" && leave());
    link.addEventListener("pointerdown", (e) => {
      tapped = e.pointerType === "touch" && shown !== link;
    });
    link.addEventListener("focus", () => show(link));
    link.addEventListener("blur", hide);
    link.addEventListener("click", (e) => {
      if (!tapped) return;
      tapped = false;
      e.preventDefault();
      show(link);
    });
  }
  addEventListener("keydown", (e) => e.key === "Escape" && hide());
  addEventListener("pointerdown", (e) => shown && !e.target.closest("a[data-term], .term-tip") && hide());
  addEventListener("scroll", place, { capture: true, passive: true });
  addEventListener("resize", place);
  document.querySelector("article")?.append(tip);
});
