"""Who computes or loads what: elements of an array and the threads of a block that touch them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..analysis.warps import LANES, Ints, Mask
from ..trace import Trace, WarpAccess
from ..trace.arrays import Shape
from . import lanes, svg
from .figure import PALETTE, Figure
from .lanes import Index

CELL = 18  # pixels of an element, at the most
WIDEST, HIGHEST = 640, 768  # pixels, of the elements of larger tiles
LEFT, TOP = 54, 44
COLOURS = tuple(PALETTE.values())  # of the warps, in turn
TINT = 0.35
NOBODY, SEVERAL = -1, -2
SHARED: dict[str, Any] = {"fill_opacity": 0.2}  # what several warps touch


class _Owners(NamedTuple):
    """Which warp and lane touches each element of a piece of the matrix: (rows, columns)."""

    warp: Ints
    lane: Ints
    top: int
    left: int
    what: str = "element"  # or "component", where accesses take a float4 and its like apart


def thread_mapping(
    trace: Trace,
    array: str = "C",
    kind: str = "store",
    index: Index = None,
    thread: int = 0,
    block: Sequence[int] | None = None,
) -> Figure:
    """Which lane of which warp stores (or loads) each element of `array`, in one block.

    trace: a Trace; `array` may lie in shared memory. `index`: of each warp's
    accesses to the array only these, a number or a range of numbers, such as those that load one
    tile; None for all. block: x first, None for the first that the trace kept. The elements are
    drawn where they lie in the matrix, in a colour for each warp; the elements of a thread are
    outlined together, those of `thread` filled. An element of a vector type is one, unless an
    access takes less of it: then each component is. Raises ValueError if the block was not kept
    or does not touch the array, or `thread` does not.
    """
    trace = lanes.of_block(trace, block)
    owners = _owners(trace, array, kind, index)
    rows, columns = owners.warp.shape
    cell = min(CELL, WIDEST / columns, HIGHEST / rows)
    cell = int(cell) if cell >= 1 else cell
    chosen = divmod(thread, LANES)
    mine = (owners.warp == chosen[0]) & (owners.lane == chosen[1])
    if not mine.any() and thread:
        raise ValueError(f"thread {thread} has no {kind} of {array} of its own here")
    warps = [int(w) for w in np.unique(owners.warp[owners.warp >= 0])]
    grid = LEFT, TOP, cell
    where = f" (warp {chosen[0]}, lane {chosen[1]})" if chosen[0] else ""
    shown: list[tuple[str, Mask, dict[str, Any]]] = [
        *((f"warp {w}", owners.warp == w, _look(w) | {"fill_opacity": TINT}) for w in warps),
        ("several warps", owners.warp == SEVERAL, SHARED),
        (f"thread {thread}{where}", mine, _look(chosen[0])),
    ]
    parts = [svg.path(svg.areas(part, *grid), **look) for _, part, look in shown if part.any()]
    code = owners.warp * LANES + owners.lane
    if cell >= 3:
        parts.append(svg.outline(svg.borders(code, *grid), stroke_opacity=0.3))
    parts.append(svg.outline(svg.borders(owners.warp, *grid), stroke_opacity=0.9))
    parts += _labels(owners, code, mine, cell)
    parts += _axes(array, owners, cell)
    height = TOP + cell * rows + 34
    told = shown[-1], *shown[:-2][:2], shown[-2]
    legend = [(name, look) for name, part, look in told if part.any()]
    parts.append(svg.legend(LEFT, height - 8, legend))
    drawing = svg.document(max(LEFT + cell * columns + 10, 600), height, *parts)
    where = f"block {trace.block[:2]}"
    words = f"Every {owners.what} of {array} here is touched by several warps of {where}"
    if warps:
        first = _shape(owners.warp == warps[0], owners.what)
        words = f"Warp {warps[0]} of {where} {kind}s {first} of {array}"
        if mine.sum() > 1:
            words += f"; thread {thread} {kind}s {_shape(mine, owners.what)}"
    see = f"A colour is a warp, an outline what one thread {kind}s"
    caption = f"{words}. {see}; all from the addresses of the trace."
    return Figure(drawing, f"Thread mapping. {words}.", caption)


def _owners(trace: Trace, array: str, kind: str, index: Index) -> _Owners:
    """From the accesses of a trace of one block."""
    of_warp: dict[int, list[WarpAccess]] = {}
    for access in trace.accesses:
        if (access.array, access.kind) == (array, kind):
            of_warp.setdefault(access.warp, []).append(access)
    if not of_warp:
        raise ValueError(f"block {trace.block} has no {kind}s of {array}")
    shown = [
        own[n]
        for own in of_warp.values()
        for n in (range(len(own)) if index is None else lanes.chosen(index, len(own)))
    ]
    shape = shown[0].shape or Shape((1,), lanes.WORD)  # as WarpAccess.element has it
    apart = shape.component and min(access.width for access in shown) < shape.element
    unit = shape.component if apart else shape.element
    item, thread = lanes.touched(shown, unit)
    columns = (shape.extents[-1] or 1) * (shape.element // unit)
    row, column = np.divmod(item, columns)
    top, left = int(row.min()), int(column.min())
    size = int(row.max()) - top + 1, int(column.max()) - left + 1

    def only(values: np.ndarray) -> np.ndarray:
        """Of each element the value, if all that touch it have the same one."""
        low, high = np.full(size, np.iinfo(np.int64).max), np.full(size, NOBODY)
        np.minimum.at(low, (row - top, column - left), values)
        np.maximum.at(high, (row - top, column - left), values)
        return np.where(high == NOBODY, NOBODY, np.where(low == high, high, SEVERAL))

    what = "component" if apart else "element"
    return _Owners(only(thread // LANES), only(thread % LANES), top, left, what)


def _look(warp: int) -> dict[str, Any]:
    """The fill of a warp's elements, as SVG attributes."""
    return {"fill": COLOURS[warp % len(COLOURS)]}


def _pieces(code: np.ndarray, wanted: np.ndarray) -> Iterator[tuple[int, int, int, int]]:
    """(row, column, height, width) of the rectangles of like code that begin where `wanted`."""
    begins = wanted.copy()
    begins[1:] &= code[1:] != code[:-1]
    begins[:, 1:] &= code[:, 1:] != code[:, :-1]
    for row, column in np.argwhere(begins).tolist():
        same = int(code[row, column])
        down, across = code[row:, column] != same, code[row, column:] != same
        height = int(down.argmax()) if down.any() else down.size
        width = int(across.argmax()) if across.any() else across.size
        yield row, column, height, width


def _labels(owners: _Owners, code: np.ndarray, mine: np.ndarray, cell: float) -> list[str]:
    """The warps' names and, where they fit, the lanes of warps that have no room for a name."""
    named: list[str] = []
    first = owners.warp[owners.warp >= 0]
    lane_room = any(min(h, w) * cell >= 15 for _, _, h, w in _pieces(code, mine))
    shown = [] if not lane_room or not first.size else [int(first.min()), int(first.min()) + 1]
    for row, column, height, width in _pieces(owners.warp, owners.warp >= 0):
        warp = int(owners.warp[row, column])
        if warp in shown:
            continue
        words = f"warp {warp}"
        if warp == 0 and max(height, width) * cell > 190 and _one_line(owners, warp):
            words = "warp 0: lanes 0 → 31"
        long, short = max(height, width) * cell, min(height, width) * cell
        if long < 6.2 * len(words) or short < 9 or (height == width == 1):
            continue
        x, y = LEFT + cell * (column + width / 2), TOP + cell * (row + height / 2)
        inner = code[row : row + height, column + width // 2]
        at = np.flatnonzero(inner == inner[(height - 1) // 2])  # of the thread in the middle
        if len(at) * cell >= 12:
            y = TOP + cell * (row + at.mean() + 0.5)
        turn = None
        if width < height and width * cell < 7 * len(words):
            angle = 90 if "→" in words else -90  # downwards, as the lanes count
            turn = f"rotate({angle} {svg.short(x)} {svg.short(y)})"
        named.append(svg.text(x, y + 4, words, transform=turn))
    numbers = []
    for row, column, height, width in _pieces(code, np.isin(owners.warp, shown)):
        lane = int(owners.lane[row, column])
        on = {"fill": "#fff", "data_ground": _look(owners.warp[row, column])["fill"]}
        x, y = LEFT + cell * (column + width / 2), TOP + cell * (row + height / 2) + 4
        word = "*" if lane == SEVERAL else lane
        numbers.append(svg.text(x, y, word, **(on if mine[row, column] else {})))
    return [svg.tag("g", *words, font_size=11, text_anchor="middle") for words in (named, numbers)]


def _one_line(owners: _Owners, warp: int) -> bool:
    """Whether the lanes of the warp follow one another in one row or column."""
    numbers = owners.lane[owners.warp == warp]
    places = np.argwhere(owners.warp == warp)
    return bool((np.diff(numbers) == 1).all() and (np.ptp(places, axis=0) == 0).any())


def _axes(array: str, owners: _Owners, cell: float) -> list[str]:
    """Row and column numbers at the ends of each side."""
    rows, columns = owners.warp.shape
    ends = [(0, "start"), (columns - 1, "end")] if columns > 1 else [(0, "start")]
    parts = [
        svg.text(LEFT + cell * (n + (anchor == "end")), TOP - 8, owners.left + n, anchor)
        for n, anchor in ends
    ]
    middle = max(LEFT + cell * columns / 2, 90)
    across = "column" if owners.what == "element" else owners.what
    parts.append(svg.text(middle, TOP - 26, f"{across} of {array}", "middle"))
    for n in sorted({0, rows - 1}):
        y = TOP + cell * n + min(max(cell / 2, 5), 9) + 4 - 8 * (n > 0)
        parts.append(svg.text(LEFT - 8, y, owners.top + n, "end"))
    middle = TOP + cell * rows / 2
    upwards = f"rotate(-90 16 {svg.short(middle)})"
    return [*parts, svg.text(16, middle, f"row of {array}", "middle", transform=upwards)]


def _shape(inside: Mask, what: str) -> str:
    """Rows and columns, in words."""
    rows, columns = (int(inside.any(axis).sum()) for axis in (1, 0))
    if rows == 1:
        return f"{columns} {what}s of one row" if columns > 1 else f"one {what}"
    if columns == 1:
        return f"{rows} {what}s of one column"
    return f"{rows} rows by {columns} columns"
