"""Lanes of a warp on rows of 32 words: what the pictures of sectors and of banks share."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..analysis.banks import BANK_BYTES
from ..analysis.sectors import LINE_BYTES
from ..analysis.warps import LANES, Ints
from ..trace import Trace, WarpAccess
from . import svg

Index = int | Sequence[int] | None  # of accesses: one, several, the first ones
CELL = 18  # pixels
WORD = BANK_BYTES  # bytes of a cell
WORDS = LINE_BYTES // WORD  # cells of a row
MOST = 32  # accesses to step through unless a range is given
FAINT = {"stroke": "currentColor", "stroke_opacity": 0.13}
# A line of this width, dashed, is a row of squares.
SQUARES = {"fill": "none", "stroke_width": CELL - 1, "stroke_dasharray": f"{CELL - 1} 1"}


class Mark(NamedTuple):
    """A bar over the words that lanes access, with their numbers."""

    x: float
    y: float
    words: int
    label: str
    fill: str


def of_block(trace: Trace, block: Sequence[int] | None = None) -> Trace:
    """The trace with the accesses of one block, x first: of None its own, the first of those kept.

    Raises ValueError if no access of that block was kept.
    """
    kept = sorted({access.block for access in trace.accesses})
    x, y, z, *_ = trace.block if block is None else (*(int(n) for n in block), 0, 0)
    number = x, y, z
    if number not in (trace.block, *kept):
        raise ValueError(
            f"no access of block {number} was kept, only those of "
            f"{', '.join(map(str, kept)) or trace.block}: trace it with keep={number}"
        )
    result = copy.copy(trace)
    result.block = number
    result.accesses = [access for access in trace.accesses if access.block == number]
    return result


def accesses(trace: Trace, array: str, kind: str, warp: int) -> list[WarpAccess]:
    """All of one warp, in order; `trace` as `of_block` gives it. Raises ValueError if there is
    none."""
    trace.find(array, kind, warp)
    return [a for a in trace.accesses if (a.array, a.kind, a.warp) == (array, kind, warp)]


def chosen(index: Index, count: int) -> list[int]:
    """The numbers of the accesses to show, of `count`; index: None, a number, or a range."""
    if index is None:
        return list(range(min(count, MOST)))
    numbers = [index] if isinstance(index, (int, np.integer)) else list(index)
    if not numbers or not all(-count <= n < count for n in numbers):
        raise ValueError(
            f"index must be a number or a range of numbers below {count}, not {index!r}"
        )
    return [int(n) % count for n in numbers]


def squares(rows: Sequence[tuple[float, float]], words: int, **attributes: Any) -> str:
    """Rows of `words` squares each, whose upper left corners are given, in one path."""
    middle, long = (CELL - 1) / 2, CELL * words - 1
    path = "".join(f"M{svg.short(x)} {svg.short(y + middle)}h{long}" for x, y in rows)
    return svg.path(path, **attributes) if path else ""


def marks(shown: Sequence[Mark], ground: str) -> str:
    """The marks, at most one for each lane, always as the same number of elements.

    `ground` is the colour of theirs that is hardest to read on.
    """
    empty = Mark(0, 0, 0, "", "none")
    full = [*shown, *[empty] * (LANES - len(shown))]
    size = {"height": CELL - 1}
    bars = [
        svg.tag("rect", x=m.x, y=m.y, width=max(CELL * m.words - 1, 0), fill=m.fill, **size)
        for m in full
    ]
    labels = [(m.x + (CELL * m.words - 1) / 2, m.y + CELL - 5, m.label) for m in full]
    look = {"fill": "#fff", "data_ground": ground, "font_size": 11, "text_anchor": "middle"}
    return svg.tag("g", *bars) + svg.texts(labels, **look)


def row_names(names: Sequence[str], left: float, top: float, **attributes: Any) -> list[str]:
    """A name at the left of each row, the first of which begins at `top`."""
    return [
        svg.text(left - 8, top + CELL * n + CELL - 5, name, "end", **attributes)
        for n, name in enumerate(names)
    ]


def label(lanes: Sequence[int], words: int) -> str:
    """`5`; of several lanes `0–7` where there is room and they follow one another, else `*`."""
    if len(lanes) == 1:
        return str(lanes[0])
    together = lanes[-1] - lanes[0] == len(lanes) - 1
    return f"{lanes[0]}–{lanes[-1]}" if words > 1 and together else "*"


def words(access: WarpAccess) -> int:
    """The words that a lane accesses; a part of one counts as one."""
    return max(access.width // WORD, 1)


def element(access: WarpAccess, lane: int) -> str:
    """What a lane accesses, as its source writes it: `tile[3][0]`, of a NumPy array `A[3, 0]`."""
    text = access.element(lane)
    return text.replace("][", ", ") if access.space == "global" else text


def first_element(access: WarpAccess) -> str:
    """That of the first lane that takes part."""
    return element(access, int(access.active.argmax()))


def touched(accesses: Iterable[WarpAccess], unit: int = WORD) -> tuple[Ints, Ints]:
    """The elements, of `unit` bytes from the start of the array, that lanes access, whole or in
    part, and the threads of the block that access them; access by access."""
    elements, threads = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for access in accesses:
        lane = np.flatnonzero(access.active)
        low = access.offset[lane] // unit
        many = ((access.offset[lane] + access.width - 1) // unit - low + 1).astype(np.intp)
        nth = np.arange(many.sum()) - np.repeat(many.cumsum() - many, many)
        elements.append(np.repeat(low, many) + nth)
        threads.append(np.repeat(access.warp * LANES + lane, many))
    return np.concatenate(elements), np.concatenate(threads)


def count(n: int, what: str) -> str:
    """ "1 word", "2 words"."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def part(shown: int, total: int) -> str:
    """ "the 8", "32 of the 64"."""
    return f"{shown} of the {total}" if shown < total else f"the {total}"
