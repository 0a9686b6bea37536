"""Labels of points in a chart, where they cover neither one another nor what is drawn."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

# Where a label may stand, the best place first: typographic points right of and above its point.
PLACES = [(side * 7, up) for up in (0, 10, -10, 20, -20, 32, -32) for side in (1, -1)]
LETTER, LINE = 6.2, 13  # points: the width of a letter and the height of a line, at the most
MARKER = 4  # points around the middle of a point
PIECE = 4  # points: a line is kept clear of in pieces of this length


def beside(ax: Any, labels: Iterable[tuple[float, float, str, str]]) -> None:
    """Labels (x, y, text, colour), each beside its point at the first place that is free.

    Free of lines, points, texts and labels that are on the axes, and within them; where there is
    no such place, at the first.
    """
    from matplotlib.transforms import Bbox

    taken = [*_texts(ax), *_lines(ax)]
    inside = Bbox(_points(ax, ax.transAxes.transform([(0, 0), (1, 1)])))
    for x, y, text, colour in sorted(labels, key=lambda label: -label[1]):
        at = _points(ax, ax.transData.transform((x, y)))
        boxes = {(dx, dy): _box(at, (dx, dy), text, dx < 0) for dx, dy in PLACES}
        free = (
            place
            for place, box in boxes.items()
            if inside.contains(*box.min) and inside.contains(*box.max)
            and not box.count_overlaps(taken)
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
    """Typographic points for pixels of the figure."""
    return pixels * 72 / ax.figure.dpi


def _box(at: Any, away: Any, text: str, right: bool, centred: bool = True) -> Any:
    """The box, a Bbox in points, of a text away from a place, which it stands right of, or left."""
    from matplotlib.transforms import Bbox

    width, (x, y) = LETTER * len(text), at + away
    return Bbox.from_bounds(x - width * right, y - LINE / 2 * centred, width, LINE)


def _texts(ax: Any) -> Iterator[Any]:
    """The boxes, in points, of the texts that are on the axes."""
    for text in ax.texts:
        at = _points(ax, ax.transData.transform(text.xy))
        right, centred = text.get_ha() == "right", text.get_va() == "center"
        yield _box(at, text.xyann, text.get_text(), right, centred)


def _lines(ax: Any) -> Iterator[Any]:
    """Of each line small boxes along it, and around its points where it has markers."""
    import numpy as np
    from matplotlib.transforms import Bbox

    for line in ax.lines:
        at = _points(ax, ax.transData.transform(line.get_xydata()))
        if line.get_marker() not in ("", "None", None):
            yield from (Bbox([place - MARKER, place + MARKER]) for place in at)
        for start, end in itertools.pairwise(at):
            count = 1 + int(np.hypot(*(end - start)) / PIECE)
            yield from (Bbox([n - 1, n + 1]) for n in np.linspace(start, end, count + 1))
