// Paper is white, and nobody unfolds it: while a page is printed, its colours are the light ones
// and the solutions are open.
(() => {
  let before;
  addEventListener("beforeprint", () => {
    const folded = [...document.querySelectorAll("article details:not([open], .hide)")];
    before = { theme: document.documentElement.dataset.theme, folded };
    document.documentElement.dataset.theme = "light";
    for (const one of folded) one.open = true;
  });
  addEventListener("afterprint", () => {
    document.documentElement.dataset.theme = before.theme;
    for (const one of before.folded) one.open = false;
  });
})();
