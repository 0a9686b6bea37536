"""Small pieces of SVG, for diagrams that are drawn cell by cell."""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def tag(name: str, *children: str, **attributes: Any) -> str:
    """One element. Underscores in attribute names become hyphens; None leaves one out."""
    words = [name] + [
        f'{key.replace("_", "-")}="{short(value)}"'
        for key, value in attributes.items()
        if value is not None
    ]
    head = " ".join(words)
    return f"<{head}>{''.join(children)}</{name}>" if children else f"<{head}/>"


NARROW = 360  # units that fit beside one another on a phone, where one is then about a pixel
LARGER = 4 / 3  # a drawing of that width on a page with room for more
OUTLINE: dict[str, Any] = {"fill": "none", "stroke": "currentColor"}


def document(width: float, height: float, *children: str, scale: float = 1) -> str:
    """The <svg> element: text in the page's colour and font unless an element says otherwise.

    scale: pixels of a unit where the page has room for them; with less, the drawing shrinks.
    """
    return tag(
        "svg",
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {short(width)} {short(height)}",
        width=width * scale,
        font_family=FONT,
        font_size=12,
        fill="currentColor",
    )


def narrow(height: float, *children: str, width: float = NARROW) -> str:
    """A document as wide as a phone, larger on a page with room for more."""
    return document(width, height, *children, scale=LARGER)


def path(d: str, **attributes: Any) -> str:
    """A path, by its steps."""
    return tag("path", d=d, **attributes)


def outline(d: str, **attributes: Any) -> str:
    """A path that is a line in the page's ink."""
    return path(d, **OUTLINE, **attributes)


def rect(x: float, y: float, width: float, height: float, **attributes: Any) -> str:
    """A rectangle."""
    return tag("rect", x=x, y=y, width=width, height=height, **attributes)


def text(x: float, y: float, words: object, anchor: str | None = None, **attributes: Any) -> str:
    """A line of text, which begins at x unless x is its "middle" or its "end"."""
    look = attributes if anchor is None else {"text_anchor": anchor} | attributes
    return tag("text", html.escape(str(words)), x=x, y=y, **look)


def texts(lines: Iterable[tuple[float, float, object]], **attributes: Any) -> str:
    """Lines of text at (x, y) that look alike, as a group."""
    return tag("g", *itertools.starmap(text, lines), **attributes)


def boxes(places: Iterable[tuple[float, float, float, float]]) -> str:
    """Rectangles by left, top, width and height, as the steps of one path."""
    return "".join(
        f"M{short(x)} {short(y)}h{short(wide)}v{short(high)}h{short(-wide)}z"
        for x, y, wide, high in places
    )


def areas(inside: np.ndarray, x: float, y: float, size: float) -> str:
    """The cells of a grid that are True, as the path of rectangles: runs of a row, joined
    downwards. The grid's corner is at (x, y), a cell has that size."""
    rectangles: list[tuple[int, int, int, int]] = []
    open_runs: dict[tuple[int, int], int] = {}
    for row, line in enumerate([*inside, np.zeros(inside.shape[1], bool)]):
        runs = set(_runs(line))
        for run in [run for run in open_runs if run not in runs]:
            start = open_runs.pop(run)
            rectangles.append((run[0], start, run[1] - run[0], row - start))
        for run in runs:
            open_runs.setdefault(run, row)
    return boxes(
        (x + size * left, y + size * top, size * wide, size * high)
        for left, top, wide, high in sorted(rectangles)
    )


def _runs(inside: np.ndarray) -> Iterable[tuple[int, int]]:
    """(first, end) of what is True and together."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], inside.astype(np.int8), [0]])))
    return zip(edges[::2].tolist(), edges[1::2].tolist())


def borders(owner: np.ndarray, x: float, y: float, size: float) -> str:
    """Lines between cells of a grid with different owners, and around those that have one: -1 is
    nobody. As a path; the grid lies as in `areas`."""
    around = np.pad(owner, 1, constant_values=-1)
    path = ""
    for across, (values, direction) in enumerate(((around.T, "v"), (around, "h"))):
        changes = values[1:] != values[:-1]
        for n, border in enumerate(changes[:, 1:-1]):
            for start, end in _runs(border):
                left, top = (start, n) if across else (n, start)
                path += f"M{short(x + size * left)} {short(y + size * top)}"
                path += f"{direction}{short(size * (end - start))}"
    return path


def legend(x: float, y: float, entries: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """(label, attributes of the sample) side by side."""
    parts = []
    for label, sample in entries:
        parts.append(rect(x, y - 10, 12, 12, **sample))
        parts.append(text(x + 18, y, label))
        x += 18 + 6.4 * len(label) + 22
    return "".join(parts)


def short(value: object) -> str:
    """A number as an attribute: hundredths at the most."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
