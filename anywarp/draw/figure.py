"""A picture as HTML: inline SVG whose ink is the colour of the text around it, light or dark."""

from __future__ import annotations

import base64
import html
import io
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .svg import FONT

# After Okabe and Ito, Color Universal Design (2008), moved to a lightness at which white text on
# them has a contrast of at least 4.5 to 1, and they themselves at least 3 to 1 with a dark page
# (#14181e). Told apart in the three kinds of colour blindness; more than five would not be.
PALETTE = {
    "blue": "#1a7abf",
    "vermilion": "#c05500",
    "green": "#14854f",
    "purple": "#b15494",
    "violet": "#7a52e8",
}

# A colour that no figure uses: Matplotlib draws in it what is to appear in the page's own colour.
INK = "#010203"
LEAST = 9  # pixels of the smallest text; where a page is too narrow for it, the picture scrolls
# The box that scrolls. A keyboard can scroll only what can have the focus. Where JupyterLab does
# not trust a notebook, it takes out the tags of an <svg> and leaves its words, in the box's size.
BOX = (
    'class="kernels-box" tabindex="0" role="group" style="overflow-x:auto;font-size:0" '
    'aria-label="Picture; it scrolls sideways where the page is narrow"'
)


@dataclass(frozen=True, repr=False)
class Figure:
    """An SVG picture with its text alternative and caption; notebooks show it as HTML.

    `svg` is one <svg> element with a viewBox, a width and no height, in currentColor and the
    colours of PALETTE. Notebooks that are not trusted lose inline SVG and styles; they show the
    same picture as an <img>, dark on white.
    """

    svg: str
    alt: str
    caption: str

    def __repr__(self) -> str:
        return f"<Figure: {self.alt}>"

    def save(self, path: Path | str) -> None:
        """Write the picture as an SVG file, dark on white."""
        Path(path).write_text(_on_white(self.svg) + "\n", encoding="utf-8")

    def _repr_html_(self) -> str:
        alt = html.escape(self.alt, quote=True)
        svg = self.svg.replace(
            "<svg", f'<svg role="img" aria-label="{alt}" style="{fitting(self.svg)}"', 1
        )
        return figure_html(
            "<style>.kernels-figure svg+img{display:none}</style>"
            f'<div {BOX}>{svg}<img alt="{alt}" src="{data_uri(self.svg)}" style="max-width:100%">'
            "</div>",
            self.caption,
        )


def figure_html(inside: str, caption: str, style: str = "", script: str = "") -> str:
    """The element of a page that has a picture, its caption, in this style, and its script."""
    below = f"<figcaption{style}>{html.escape(caption)}</figcaption>" if caption else ""
    start = '<figure class="kernels-figure" style="margin:1em 0;max-width:44em">'
    return f"{start}{inside}{below}{script}</figure>"


def boxed(inside: str, alt: str, caption: str) -> str:
    """The same of text, which scrolls sideways where the page is narrower."""
    box = 'class="kernels-box" role="group" tabindex="0" style="overflow-x:auto"'
    label = html.escape(alt, quote=True)
    return figure_html(f'<div {box} aria-label="{label}">{inside}</div>', caption)


def fitting(svg: str) -> str:
    """CSS: as wide as the page at the most, but not so narrow that its text is below LEAST."""
    return f"display:block;max-width:100%;min-width:{narrowest(svg)}px;height:auto"


def beside(svg: str) -> str:
    """CSS of a box with the picture: beside another where the page is wide enough for both."""
    return f"flex:1 1 {narrowest(svg)}px;min-width:0"


def narrowest(svg: str) -> int:
    """Pixels: the width at which the smallest text is as small as it may be."""
    sizes = re.findall(r'font-size="([\d.]+)"|font-size: ?([\d.]+)px', svg)
    smallest = min((float(a or b) for a, b in sizes), default=LEAST)
    _, _, across, _ = _view_box(svg).split()
    return math.ceil(LEAST * float(across) / smallest) if sizes else 0


def _view_box(svg: str) -> str:
    """Left, top, width and height of a picture, as it has them."""
    return svg.partition('viewBox="')[2].partition('"')[0]


def text_colour(colour: str) -> str:
    """A colour of PALETTE, moved towards the ink of the page: as text it has a contrast of at
    least 4.5 to 1 with a light and with a dark one, which no colour has with both."""
    return f"color-mix(in srgb, {colour} 75%, currentColor)"


def from_matplotlib(fig: Any, alt: str, caption: str = "") -> Figure:
    """The Figure of a Matplotlib figure made within `style()`, which is closed.

    A figure that is 5.3 inches wide is 530 pixels wide on a page with room for it. Text in a colour
    of PALETTE is drawn in its `text_colour`.
    """
    import matplotlib.pyplot as plt

    # Identifiers are hashed with the salt: the same figure has the same ones every time, and two
    # different figures in a page do not share any.
    with plt.rc_context({"svg.hashsalt": alt + caption, "svg.fonttype": "none"}):
        buffer = io.StringIO()
        fig.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    plt.close(fig)
    return Figure(_tidy(buffer.getvalue(), 100 * fig.get_figwidth()), alt, caption)


@contextmanager
def style() -> Iterator[Any]:
    """Matplotlib's pyplot, with settings for a plain figure in the ink of the page."""
    import matplotlib.pyplot as plt

    ink = dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK
    )
    settings: dict[Any, Any] = ink | {
        "font.size": 11,  # points: 15 pixels, at 100 pixels an inch
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.8,
        "lines.linewidth": 1.8,
        "figure.figsize": (5.3, 3.5),  # fits a phone with legible text
        "figure.constrained_layout.use": True,
    }
    with plt.rc_context(settings):
        yield plt


def _tidy(svg: str, width: float) -> str:
    """Matplotlib's SVG file as an element of a page, in the page's ink and the font of its text."""
    svg = svg[svg.index("<svg") :].strip()
    # The style sheet would apply to the whole page; its joins are set on the root below.
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r" ?font-family: [^;\"]*;?", "", svg)
    svg = re.sub(r'(<text style="[^"]*fill: )(#\w{6})', _legible, svg.replace(INK, "currentColor"))
    svg = re.sub(r"\d+\.\d{5,}", lambda m: f"{float(m[0]):.2f}", svg)  # hundredths of a point
    used = set(re.findall(r"#([\w-]+)", svg))
    svg = re.sub(r' id="([\w.-]+)"', lambda m: m[0] if m[1] in used else "", svg)
    root = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="{_view_box(svg)}" width="{width:.0f}" font-family="{FONT}" '
        'stroke-linejoin="round">'
    )
    svg = re.sub(r"<svg[^>]*>", root, svg, count=1)
    return re.sub(r"\s*\n\s*", "\n", svg)


def _legible(style: re.Match[str]) -> str:
    """The style of a text, whose colour is made one for text."""
    return style[1] + (text_colour(style[2]) if style[2] in PALETTE.values() else style[2])


def data_uri(svg: str) -> str:
    """The picture for an <img>."""
    return "data:image/svg+xml;base64," + base64.b64encode(_on_white(svg).encode()).decode()


def _on_white(svg: str) -> str:
    """The picture for an <img> or a file, which do not see the page's colours."""
    return svg.replace("<svg", '<svg style="color:#1a1a1a;background:#fff"', 1)
