"""What holds up the first paint of a page and can be left out of it, or come later.

The theme draws its icons by a script of 1.5 MB in the page's head; the pages show about fifteen.
Here each stands in the page as a picture. Formulas stand in it as MathJax set them once
(tools/formulas.py), so that a page loads MathJax only where one is new. Pictures stand in it once,
not again as the images that notebooks need where no script runs. Its dozen stylesheets, one of
which asks for another, are one file, without the rules that no page or script has a word for.
Scripts are loaded beside the page rather than before it; that the page is light or dark is known
before its first paint all the same.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

import formulas
import pydata_sphinx_theme
import tinycss2
from markup import Page

ICONS = Path(pydata_sphinx_theme.__file__).parent / (
    "theme/pydata_sphinx_theme/static/scripts/fontawesome.js"
)
CREDIT = "Icons: Font Awesome Free, CC BY 4.0"
THEME = 'document.documentElement.dataset.theme = localStorage.getItem("theme") || "auto";'
THEME_AT_ONCE = """\
document.documentElement.dataset.theme = ["light", "dark"].includes(localStorage.getItem("mode"))
      ? localStorage.getItem("mode")
      : matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";"""
FIRST = "documentation_options"  # a script in the page changes what this one defines
FORMULA = re.compile(r"\s*\\([(\[])(.*)\\[)\]]\s*", re.DOTALL)
SVG = "data:image/svg+xml;base64,"
IMPORT = re.compile(r'@import "([^"]+)";')
WORD = re.compile(r"[\w-]+")
NAMES = re.compile(r"[.#]((?:[\w-]|\\.)+)")  # of classes and elements in a selector
BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
FILE = re.compile(r"""url\((["']?)(?!["']?data:)([^"')]+)\1\)""")


def reduce(page: Page) -> None:
    """Have a built page load less, and less of it first."""
    draw_icons(page)
    put_formulas(page)
    put_drawings(page)
    of_search = page.select('script[src*="searchtools.js"]')  # its scripts rest on one another
    for script in page.select("script"):
        source = script.get("src", "")
        if THEME in script.text:
            # where it is "auto", the theme's own script finds out, when the page has been painted
            script.string = script.text.replace(THEME, THEME_AT_ONCE)
        elif "fontawesome.js" in source:
            script.replace_with(page.keep(f"<!-- {CREDIT} -->"))
        elif source and FIRST not in source and not of_search:
            script["defer"] = ""


def join_styles(page: Page, path: Path, static: Path) -> None:
    """Have the page at this path load one stylesheet, in this folder, in place of its own."""
    if not (links := page.select('link[rel="stylesheet"]')):
        return
    files = [path.parent / link["href"].partition("?")[0] for link in links]
    css = "\n".join(stylesheet(Path(os.path.normpath(file)), static) for file in files)
    joined = static / f"all-{hashlib.sha256(css.encode()).hexdigest()[:16]}.css"
    joined.write_text(css, encoding="utf-8")
    for link in links[1:]:
        link.decompose()
    links[0]["href"] = Path(os.path.relpath(joined, path.parent)).as_posix()


@functools.cache
def stylesheet(path: Path, folder: Path) -> str:
    """The text of a stylesheet, and of those that it asks for, as it has to be in a folder."""

    def moved(match: re.Match[str]) -> str:
        return f'url("{Path(os.path.relpath(path.parent / match[2], folder)).as_posix()}")'

    text = path.read_text(encoding="utf-8").removeprefix('@charset "UTF-8";')
    imported = lambda match: stylesheet(Path(os.path.normpath(path.parent / match[1])), folder)
    return IMPORT.sub(imported, FILE.sub(moved, text))


def prune_styles(pages: Iterable[Path], static: Path) -> None:
    """Leave out of the stylesheets of `join_styles` what no page and none of its scripts names:
    most of the theme's 390 kB are for elements that the book has none of."""
    texts = {path: path.read_text("utf-8") for path in pages}
    words = set(WORD.findall("\n".join(texts.values())))
    scripts = [
        path.read_text("utf-8")
        for path in static.rglob("*.js")
        if path.name.partition(".")[0] in words
    ]
    words.update(WORD.findall("\n".join(scripts)))
    for sheet in static.glob("all-*.css"):
        css = pruned(tinycss2.parse_stylesheet(sheet.read_text("utf-8")), words)
        name = f"all-{hashlib.sha256(css.encode()).hexdigest()[:16]}.css"
        sheet.unlink()
        (static / name).write_text(css, encoding="utf-8")
        for path, text in texts.items():
            if sheet.name in text:
                path.write_text(text.replace(sheet.name, name), encoding="utf-8")


def pruned(rules: list[tinycss2.ast.Node], words: set[str]) -> str:
    """The CSS of these rules without those whose classes and ids are not among the words. A class
    may be put together, as "bs-tooltip-" and a side: then its beginning is one of them."""

    def named(name: str) -> bool:
        starts = (name[:end] for end in range(1, len(name) + 1) if name[end - 1] == "-")
        return "\\" in name or name in words or any(start in words for start in starts)

    css = ""
    for rule in rules:
        if rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports", "layer"):
            inner = pruned(tinycss2.parse_rule_list(rule.content or []), words)
            css += f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inner}}}" * bool(inner)
        elif rule.type != "qualified-rule":
            css += rule.serialize() if rule.type == "at-rule" else ""  # but for white space
        else:
            selectors, count = tinycss2.serialize(rule.prelude), 1
            while count:  # of what stands in :not() or :is() nothing has to be there
                selectors, count = BRACKETS.subn("", selectors)
            if any(all(map(named, NAMES.findall(one))) for one in selectors.split(",")):
                css += rule.serialize()
    return css


def put_formulas(page: Page) -> None:
    """Set the formulas that tools/formulas.json has; without others the page needs no MathJax."""
    known, new = formulas.stored(), page.select(".tex2jax_process, .mathjax_process, .output_area")
    for element in page.select(".math"):
        match = FORMULA.fullmatch(element.text)
        made = known.get(formulas.delimited(match[2], match[1] == "[")) if match else None
        if made:
            element.string = page.keep(made)
        elif match:
            new.append(element)
    for script in page.select("script") if not new else ():
        if "mathjax/" in script.get("src", "") or script.text.startswith("window.MathJax"):
            script.decompose()


def put_drawings(page: Page) -> None:
    """Draw each picture in the page once."""
    for image in page.select(f'img[src^="{SVG}"]'):
        if page.drawing(image.previous_sibling):
            image.decompose()
            continue
        label = page.new_tag("svg", attrs={"role": "img", "aria-label": image["alt"]})
        label["style"] = image["style"]
        svg = base64.b64decode(image["src"].removeprefix(SVG)).decode()
        label = str(label).removesuffix("></svg>")
        rest = svg.partition('<svg style="')[2].partition('"')[2]
        image.replace_with(page.keep(label + rest))


@functools.cache
def shapes() -> dict[str, tuple[str, str, str]]:
    """By the name of an icon its width, height and path, as the theme's script has them."""
    shapes = {}
    entry = r'(?:"([\w-]+)"|\b(\w+)):\[(\d+),(\d+),\[([^\]]*)\],"[0-9a-f]+","([^"]+)"\]'
    text = ICONS.read_text(encoding="utf-8")
    for quoted, plain, width, height, others, path in re.findall(entry, text):
        for name in quoted or plain, *re.findall(r'"([a-z][\w-]*)"', others):
            shapes[name] = (width, height, path)  # the solid icons stand last in the script
    return shapes


def draw_icons(page: Page) -> None:
    """Draw the icons in the page; one that the theme does not have stays as it is."""
    for icon in page.select('i[class*="fa-"], span[class*="fa-"]'):
        known = [name for name in icon["class"] if name.removeprefix("fa-") in shapes()]
        if known and not icon.contents:
            width, height, path = shapes()[known[0].removeprefix("fa-")]
            icon.name = "svg"
            icon["class"].insert(0, "svg-inline--fa")
            icon.attrs |= {"aria-hidden": "true", "viewBox": f"0 0 {width} {height}"}
            icon.append(page.new_tag("path", fill="currentColor", d=path))
