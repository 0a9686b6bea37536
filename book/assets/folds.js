// What a page keeps folded: evidence, that one button opens, and solutions.
(() => {
  // Paper is white, and nobody unfolds it: while a page is printed, its colours are the light ones,
  // and solutions and evidence are open.
  let before;
  addEventListener("beforeprint", () => {
    const shut = "article details:not([open], .hide:not(.evidence))";
    const folded = [...document.querySelectorAll(shut)];
    before = { theme: document.documentElement.dataset.theme, folded };
    document.documentElement.dataset.theme = "light";
    for (const one of folded) one.open = true;
  });
  addEventListener("afterprint", () => {
    document.documentElement.dataset.theme = before.theme;
    for (const one of before.folded) one.open = false;
  });

  // Under the heading of a page that has evidence; it says what it would do next, also where a
  // reader has opened the folds one by one.
  addEventListener("DOMContentLoaded", () => {
    const folds = [...document.querySelectorAll("article details.evidence")];
    if (!folds.length) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "evidence-control";
    const shut = () => folds.some((one) => !one.open);
    const name = () => {
      button.textContent = shut() ? "Show all evidence" : "Hide all evidence";
    };
    button.addEventListener("click", () => {
      const open = shut();
      for (const one of folds) one.open = open;
      name();
    });
    for (const one of folds) one.addEventListener("toggle", name);
    name();
    document.querySelector("article h1").after(button);
  });
})();
