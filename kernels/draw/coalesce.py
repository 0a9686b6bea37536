"""What one load or store of a warp makes memory move: lanes, sectors and cache lines."""

from __future__ import annotations

import numpy as np

from .. import analysis
from . import svg
from .figure import PALETTE, Figure

CELL = 16
WORD = 4                                    # bytes of a cell
WORDS = analysis.LINE_BYTES // WORD         # cells of a row
GAP = 4                                     # between sectors
USED = {"fill": PALETTE["blue"]}
WASTED = {"fill": PALETTE["vermilion"], "fill_opacity": 0.35}
IDLE = {"fill": "none", "stroke": "currentColor", "stroke_opacity": 0.25}


def coalescing(trace, array: str, kind: str = "load", warp: int = 0, index: int = 0) -> Figure:
    """The memory that one warp-wide access touches, a row for each 128-byte line.

    trace: a `kernels.trace.Trace`; `index` counts this warp's accesses to the array in the
    traced block. Words that a lane uses carry its number; the rest of their 32-byte sectors
    moves too. Raises ValueError if there is no such access.
    """
    access = trace.find(array, kind, warp, index)
    users = _users(access)                  # word address -> lanes
    lines = sorted({word // WORDS for word in users})
    sectors = {word * WORD // analysis.SECTOR_BYTES for word in users}
    name = _names(access, trace.shapes[array])
    margin_x, margin_y = 92, 30
    used, wasted, idle, labels = [], [], [], []
    for row, line in enumerate(lines):
        y = margin_y + CELL * row
        words = [line * WORDS + n for n in range(WORDS)]
        for n, word in enumerate(words):
            corner = margin_x + CELL * n + GAP * (n // 8), y
            if word in users:
                used.append(corner)
                labels.append(svg.text(corner[0] + CELL / 2 - 0.5, y + CELL - 4.5,
                                       _lanes(users[word])))
            else:
                (wasted if word // 8 in sectors else idle).append(corner)
    right = margin_x + CELL * WORDS + 3 * GAP
    rows = [svg.text(margin_x - 8, margin_y + CELL * row + CELL - 4,
                     name(next(w for w in sorted(users) if w // WORDS == line)),
                     text_anchor="end", font_size=11)
            for row, line in enumerate(lines)]
    height = margin_y + CELL * len(lines) + 34
    head = [svg.text(margin_x + n * (8 * CELL + GAP) + 4 * CELL, margin_y - 10, f"sector {n}",
                     text_anchor="middle") for n in range(4)]
    bytes_used, bytes_moved = WORD * len(users), analysis.SECTOR_BYTES * len(sectors)
    words = (f"Warp {warp}, line {access.line}: its {int(access.active.sum())} lanes {kind} "
             f"{_count(len(users), 'word')} of {array} from {_count(len(sectors), 'sector')} in "
             f"{_count(len(lines), 'cache line')}; {bytes_moved} bytes move, {bytes_used} "
             f"are used")
    drawing = svg.document(
        right + 8, height, *head, *rows,
        svg.cells(idle, CELL - 1, **IDLE), svg.cells(wasted, CELL - 1, **WASTED),
        svg.cells(used, CELL - 1, **USED),
        svg.tag("g", *labels, fill="#fff", data_ground=USED["fill"], font_size=10, text_anchor="middle"),
        svg.legend(margin_x, height - 8, [
            ("used, with its lane (* several)", USED), ("moved, not used", WASTED),
            ("not touched", IDLE)]))
    return Figure(drawing, f"Coalescing. {words}.", f"{words}.")


def _users(access) -> dict[int, list[int]]:
    """Word address -> the lanes that touch it."""
    users: dict[int, list[int]] = {}
    for lane in np.flatnonzero(access.active):
        first = int(access.address[lane]) // WORD
        for word in range(first, first + max(access.width // WORD, 1)):
            users.setdefault(word, []).append(int(lane))
    return users


def _lanes(lanes: list[int]) -> str:
    return str(lanes[0]) if len(lanes) == 1 else "*"


def _names(access, shape):
    """A word's address -> `A[3, 0]`."""
    def name(word: int) -> str:
        index = np.unravel_index((word * WORD - access.start) // WORD, shape)
        return f"{access.array}[{', '.join(str(int(i)) for i in index)}]"
    return name


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
