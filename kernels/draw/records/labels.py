"""Labels of points in a chart, where they cover neither one another nor what is drawn."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

# Where a label may stand, the best place first: typographic points right of and above its point.
PLACES = [(side * 7, up) for up in (0, 10, -10, 20, -20, 32, -32) for side in (1, -1)]
LETTER, LINE = 6.2, 13  # points: the width of a letter and the height of a line, at the most
MARKER = 4  # points around the middle of a point
PIECE = 4  # points: a line is kept clear of in pieces of this length


class Box(NamedTuple):
    """Left, bottom, right, top, in typographic points."""

    x0: float
    y0: float
    x1: float
    y1: float

    def covers(self, other: Box) -> bool:
        return (
            self.x0 < other.x1 and other.x0 < self.x1 and self.y0 < other.y1 and other.y0 < self.y1
        )


def beside(ax: Any, labels: Iterable[tuple[float, float, str, str]]) -> None:
    """Labels (x, y, text, colour), each beside its point at the first place that is free.

    Free of lines, points, texts and labels that are on the axes, and within them; where there is
    no such place, at the first.
    """
    taken = [*_texts(ax), *_lines(ax)]
    inside = Box(*_points(ax, ax.transAxes.transform([(0, 0), (1, 1)])).ravel())
    for x, y, text, colour in sorted(labels, key=lambda label: -label[1]):
        (at,) = _points(ax, ax.transData.transform([(x, y)]))
        boxes = {place: _box(at, *place, text) for place in PLACES}
        free = (
            place
            for place, box in boxes.items()
            if inside.x0 <= box.x0 and box.x1 <= inside.x1
            and inside.y0 <= box.y0 and box.y1 <= inside.y1
            and not any(box.covers(other) for other in taken)
        )  # fmt: skip
        dx, dy = place = next(free, PLACES[0])
        taken.append(boxes[place])
        write(ax, x, y, text, colour, dx=dx, dy=dy, ha="left" if dx > 0 else "right")


def write(
    ax: Any, x: float, y: float, text: str, colour: str, *, dx: float = 7, dy: float = 0,
    ha: str = "left", va: str = "center", at: Any = "data",
) -> None:  # fmt: skip
    """Text beside a point, whatever else is there; dx and dy in typographic points."""
    ax.annotate(
        text, (x, y), xycoords=at, xytext=(dx, dy), textcoords="offset points",
        color=colour, ha=ha, va=va, annotation_clip=False,
    )  # fmt: skip


def _points(ax: Any, pixels: Any) -> Any:
    return pixels * 72 / ax.figure.dpi


def _box(at: Sequence[float], dx: float, dy: float, text: str) -> Box:
    x, y, width = at[0] + dx, at[1] + dy, LETTER * len(text)
    left = x if dx > 0 else x - width
    return Box(left, y - LINE / 2, left + width, y + LINE / 2)


def _texts(ax: Any) -> Iterator[Box]:
    for text in ax.texts:
        x, y = _points(ax, ax.transData.transform(text.xy))
        dx, dy = text.xyann
        width = LETTER * len(text.get_text())
        left = x + dx - (width if text.get_ha() == "right" else 0)
        low = y + dy - (LINE / 2 if text.get_va() == "center" else 0)
        yield Box(left, low, left + width, low + LINE)


def _lines(ax: Any) -> Iterator[Box]:
    """Of each line small boxes along it, and around its points where it has markers."""
    import numpy as np

    for line in ax.lines:
        at = _points(ax, ax.transData.transform(line.get_xydata()))
        around = MARKER if line.get_marker() not in ("", "None", None) else 0
        for x, y in at if around else ():
            yield Box(x - around, y - around, x + around, y + around)
        for one, other in itertools.pairwise(at):
            count = 1 + int(np.hypot(*(other - one)) / PIECE)
            for x, y in np.linspace(one, other, count + 1):
                yield Box(x - 1, y - 1, x + 1, y + 1)
