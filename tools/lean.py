"""What holds up the first paint of a page and can be left out of it, or come later.

The theme draws its icons by a script of 1.5 MB in the page's head, and once more by a font with
2,000 rules in its style; the pages show about fifteen. Here each stands in the page as a picture.
Scripts are loaded beside the page rather than before it, and MathJax only where there is a formula.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pydata_sphinx_theme
from docutils import nodes

ICONS = Path(pydata_sphinx_theme.__file__).parent / (
    "theme/pydata_sphinx_theme/static/scripts/fontawesome.js"
)
CREDIT = "<!-- Icons: Font Awesome Free, CC BY 4.0 -->"
FIRST = "documentation_options"  # a script in the page changes what this one defines


def page(text: str) -> str:
    """A built page that loads less, and less of it first."""
    text = with_icons(text)
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


def is_formula(node: nodes.Node) -> bool:
    return isinstance(node, nodes.math | nodes.math_block)


def is_mathjax(script: Any) -> bool:
    """Whether a script of a page loads MathJax, or sets it up."""
    return "mathjax" in f"{script.filename or ''} {script.attributes.get('body', '')}".lower()


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
