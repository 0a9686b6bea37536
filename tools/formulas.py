"""Set the formulas of the book once, so that its pages need not do it for every reader.

    python tools/formulas.py

MathJax, in a headless Chromium, sets every formula of the notebooks and texts. What it makes of
them stands in tools/formulas.json, and the style that they share in book/assets/formulas.css, with
which the build puts them into the pages (tools/page_weight.py). A page with a formula that is not
among them loads MathJax, as it would without this file. A formula in a line of its own, which a
phone scrolls, can have the focus.
"""

from __future__ import annotations

import functools
import html
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from string import Template

import nbformat
import pdf

ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "book"
ASSETS = BOOK / "assets"
STORE = Path(__file__).with_suffix(".json")
STYLE = ASSETS / "formulas.css"
OPEN, CLOSE = {False: r"\(", True: r"\["}, {False: r"\)", True: r"\]"}
SETTLED = 60_000  # milliseconds of the page's own time

# MathJax sets a formula in the size at which its small letters are as high as those of the text
# around it. In a style 1ex is the height of those; that of MathJax's own is 0.442 of their size.
SIZE = "mjx-container { font-size: calc(1ex / 0.442); position: relative; }"

PAGE = Template(Path(__file__).with_suffix(".html").read_text(encoding="utf-8"))


def markdown(path: Path) -> Iterator[str]:
    """The texts of a page's source."""
    if path.suffix == ".md":
        yield path.read_text(encoding="utf-8")
        return
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            yield cell.source


def in_text(text: str) -> Iterator[str]:
    """The formulas of a text in Markdown, as the pages have them: between brackets."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.amsmath import amsmath_plugin
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    parser = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin).use(amsmath_plugin)
    for token in parser.parse(text):
        for part in token, *(token.children or ()):
            if part.type in ("math_inline", "math_block"):
                yield delimited(part.content, part.type == "math_block")


def delimited(tex: str, display: bool) -> str:
    """A formula between the delimiters of MathJax."""
    return f"{OPEN[display]}{tex.strip()}{CLOSE[display]}"


def of_book() -> list[str]:
    """All formulas of the book, each once."""
    paths = sorted([*BOOK.glob("*.ipynb"), *BOOK.glob("*.md")])
    return sorted({tex for path in paths for text in markdown(path) for tex in in_text(text)})


@functools.cache
def stored() -> dict[str, str]:
    """By formula what stands for it in a page."""
    return json.loads(STORE.read_text(encoding="utf-8")) if STORE.exists() else {}


def set_by_mathjax(formulas: list[str]) -> tuple[list[str], list[str]]:
    """What stands for each formula, and the rules of their style."""
    import yaml

    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["sphinx"]["config"]
    texts = "\n".join(f'<div class="math">{html.escape(tex)}</div>' for tex in formulas)
    page = PAGE.substitute(
        settings=json.dumps(config["mathjax3_config"]),
        mathjax=(ASSETS / config["mathjax_path"]).as_uri(),
        formulas=texts,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(page, encoding="utf-8")
        said = pdf.opened(pdf.browser(), path, SETTLED, "--dump-dom")
    result = re.search("BEGIN(.*)END", said, re.DOTALL)
    if not result:
        raise pdf.Failure(f"Chromium set no formulas\n{said[-2000:]}")
    made, rules = json.loads(html.unescape(result[1]))
    wide = 'display="true"'
    return [formula.replace(wide, f'{wide} tabindex="0"', 1) for formula in made], rules


def has_its_font(rule: str) -> bool:
    """False of a rule that names a font which no formula of the book needs (README.md)."""
    return all((ASSETS / font).is_file() for font in re.findall(r'url\("([^"]+)"\)', rule))


def main() -> int:
    """Set the formulas of the book and store them with their style; the exit status."""
    formulas = of_book()
    try:
        made, rules = set_by_mathjax(formulas)
    except pdf.Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    stored = dict(zip(formulas, made, strict=True))
    STORE.write_text(json.dumps(stored, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
    head = "/* Made by tools/formulas.py: the style of MathJax for the formulas of the book. */"
    STYLE.write_text("\n".join([head, *filter(has_its_font, rules), SIZE]) + "\n", encoding="utf-8")
    print(f"{len(stored)} formulas: {STORE.stat().st_size} bytes, style {STYLE.stat().st_size}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
