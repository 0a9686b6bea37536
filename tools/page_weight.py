"""What holds up the first paint of a page and can be left out of it, or come later.

The theme draws its icons by a script of 1.5 MB in the page's head, and once more by a font with
2,000 rules in its style; the pages show about fifteen. Here each stands in the page as a picture.
Formulas stand in it as MathJax set them once (tools/formulas.py), so that a page loads MathJax only
where one is new. Pictures stand in it once, not again as the images that notebooks need where no
script runs, and so does the script of the steppers. Scripts are loaded beside the page rather than
before it; that the page is light or dark is known before its first paint all the same.
"""

from __future__ import annotations

import base64
import functools
import html
import re
from pathlib import Path

import formulas
import pydata_sphinx_theme

ICONS = Path(pydata_sphinx_theme.__file__).parent / (
    "theme/pydata_sphinx_theme/static/scripts/fontawesome.js"
)
CREDIT = "<!-- Icons: Font Awesome Free, CC BY 4.0 -->"
THEME = 'document.documentElement.dataset.theme = localStorage.getItem("theme") || "auto";'
THEME_AT_ONCE = """\
document.documentElement.dataset.theme = ["light", "dark"].includes(localStorage.getItem("mode"))
      ? localStorage.getItem("mode")
      : matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";"""
FIRST = "documentation_options"  # a script in the page changes what this one defines


def page(text: str) -> str:
    """A built page that loads less, and less of it first."""
    text = with_drawings(without_mathjax(with_formulas(with_icons(text))))
    # where it is "auto", the theme's own script finds out, when the page has been painted
    text = text.replace(THEME, THEME_AT_ONCE)
    text = re.sub(r'<script src="[^"]*/fontawesome\.js[^"]*"></script>', CREDIT, text)
    if "searchtools.js" in text:  # its scripts rest on one another
        return text
    return re.sub(r"<script [^<>]*\bsrc=[^<>]*></script>", deferred, text)


def deferred(script: re.Match[str]) -> str:
    """A script's element, so that the page does not wait for it."""
    if FIRST in script[0] or re.search(r"\sdefer\b", script[0]):
        return script[0]
    return script[0].replace("></script>", " defer></script>")


def style(text: str) -> str:
    """A style of the theme without the icons of its font."""
    return re.sub(r'(?:\.fa-[\w-]+:before,?)+\{content:"[^"]*"\}', "", text)


def with_formulas(text: str) -> str:
    """The page with its formulas set; one that is not among those of tools/formulas.py stays."""

    def put(element: re.Match[str]) -> str:
        display = element["open"] == r"\["
        known = formulas.delimited(html.unescape(element["tex"]), display)
        return element["start"] + formulas.stored().get(known, element["shown"]) + element["end"]

    shown = r"(?P<shown>\s*(?P<open>\\[(\[])(?P<tex>.*?)\\[)\]])"
    element = rf'(?P<start><(?P<name>span|div) class="math [^>]*>){shown}(?P<end></(?P=name)>)'
    return re.sub(element, put, text, flags=re.DOTALL)


def without_mathjax(text: str) -> str:
    """The page without MathJax and its settings, unless it has to set a formula there."""
    classes = "tex2jax_process|mathjax_process|output_area"  # beside "math" it looks into these
    if re.search(rf'class="math [^>]*>\s*\\|class="(?:[^"]* )?(?:{classes})[ "]', text):
        return text
    text = re.sub(r"<script>window\.MathJax = .*?</script>\s*", "", text, flags=re.DOTALL)
    return re.sub(r'<script [^<>]*\bsrc="[^"]*mathjax/[^<>]*></script>\s*', "", text)


def with_drawings(text: str) -> str:
    """The page with its pictures drawn in it once, and one script for all steppers."""

    def put(image: re.Match[str]) -> str:
        svg = base64.b64decode(image["data"]).decode()
        told = f'role="img" aria-label="{image["alt"]}" style="{image["style"]}"'
        return re.sub(r'<svg style="[^"]*"', f"<svg {told}", svg, count=1)

    data = 'data:image/svg\\+xml;base64,(?P<data>[^"]*)'
    image = rf'<img alt="(?P<alt>[^"]*)" src="{data}" style="(?P<style>[^"]*)"/?>'
    text = re.sub(f"(?<=</svg>){image}", "", text)
    return shared_script(re.sub(image, put, text))


def shared_script(text: str) -> str:
    """The page with the steppers' script in it once."""
    call = r'<script>\((?P<function>\(key, what,.*?)\)\("\w{12}",'
    first = re.search(call, text, re.DOTALL)
    if not first:
        return text
    once = f"<script>const kernelsStepper = {first['function']};</script>"
    rest = text[first.start() :].replace(
        f"<script>({first['function']})(", "<script>kernelsStepper("
    )
    return text[: first.start()] + once + rest


@functools.cache
def shapes() -> dict[str, tuple[str, str, str]]:
    """By the name of an icon its width, height and path, as the theme's script has them."""
    found = {}
    entry = r'(?:"([\w-]+)"|\b(\w+)):\[(\d+),(\d+),\[([^\]]*)\],"[0-9a-f]+","([^"]+)"\]'
    text = ICONS.read_text(encoding="utf-8")
    for quoted, plain, width, height, others, path in re.findall(entry, text):
        for name in quoted or plain, *re.findall(r'"([a-z][\w-]*)"', others):
            found[name] = (width, height, path)  # the solid icons stand last in the script
    return found


def with_icons(text: str) -> str:
    """The page with its icons drawn in it; one that the theme does not have stays as it is."""

    def draw(element: re.Match[str]) -> str:
        attributes, classes = element[2], element[3]
        names = [name.removeprefix("fa-") for name in classes.split()]
        known = [name for name in names if name in shapes()]
        if not known:
            return element[0]
        width, height, path = shapes()[known[0]]
        attributes = attributes.replace(classes, f"svg-inline--fa {classes}", 1)
        return (
            f'<svg{attributes} aria-hidden="true" viewBox="0 0 {width} {height}">'
            f'<path fill="currentColor" d="{path}"/></svg>'
        )

    icon = r'<(i|span)((?:\s[^<>]*?)?\sclass="([^"]*\bfa-[^"]*)"[^<>]*)></\1>'
    return re.sub(icon, draw, text)
