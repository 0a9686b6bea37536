"""Fragments of A and B in registers, and the multiply-adds that they feed, one k after another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from anywarp import Trace
from anywarp.analysis import LANES
from anywarp.draw import PALETTE, Stepper, lanes, stepper, svg

from ...ladder.check.attempt import small_shape
from ...ladder.step import Step

CELL, WIDE = 28, 272  # pixels of an element at the most, and of all those of a row
LEFT, TOP, GAP = 54, 48, 12  # GAP: between a fragment and the products
READABLE = 17  # the least element with a number in it
NEW, HELD = 0.5, 0.12  # opacity of what is loaded at this k, and of what was there before


class _Load(NamedTuple):
    """What one instruction brings to a thread: (k, row of A or column of B) of each word."""

    words: tuple[tuple[int, int], ...]

    @property
    def k(self) -> int:
        return min(k for k, _ in self.words)


def outer_product(of: Any, thread: int = 0, block: Sequence[int] | None = None) -> Stepper:
    """The loads from shared memory of one thread, and the multiply-adds they make possible.

    of: a `kernels.trace.Trace`, or a Step, which is traced with a few tiles. A frame is one k of
    the first tile: the fragment of A at the left, that of B above, and an element of C for each
    pair of them, with the number of its multiply-adds so far. A load counts at the first k that
    needs it, whenever it was issued. block: x first, None for the first that the trace kept.
    Rows and columns are those of C that the thread stores; the loads are those of the trace.
    Raises ValueError for a block that was not kept, a thread that stores nothing, or a kernel
    whose loads from shared memory are not those of such a product.
    """
    trace = of.trace(*small_shape(of)) if isinstance(of, Step) else of
    trace = lanes.of_block(trace, block)
    rows, columns = _stored(trace, thread)
    last = max(a.warp for a in trace.accesses) * LANES + LANES - 1
    names = sorted({a.array for a in trace.accesses if (a.space, a.kind) == ("shared", "load")})
    if len(names) != 2:
        raise ValueError(f"the kernel loads from {len(names)} arrays in shared memory, not from 2")
    # tile_a stands before tile_b
    A, B = (_loads(trace, name, thread, last, side) for side, name in enumerate(names))
    ks = sorted({k for load in A for k, _ in load.words})
    if ks != sorted({k for load in B for k, _ in load.words}):
        raise ValueError(f"{names[0]} and {names[1]} are not read for the same k")
    frames, labels = [], []
    for n, k in enumerate(ks):
        frames.append(_draw((A, B), (rows, columns), names, k, n + 1))
        now, done = (sum(want(load.k) for load in A + B) for want in (k.__eq__, k.__ge__))
        fmas = len(rows) * len(columns)
        labels.append(
            f"k = {k}: {lanes.count(now, 'load')} for {lanes.count(fmas, 'FMA')}; "
            f"so far {done} for {fmas * (n + 1)}"
        )
    loads, fmas = len(A + B), len(rows) * len(columns) * len(ks)
    words = (
        f"Thread {thread} multiplies {lanes.count(len(rows), 'element')} of A by {len(columns)} of "
        f"B at each k. The first tile takes {loads} loads from shared memory for {fmas} FMAs, "
        f"{fmas / loads:.3g} for each load. An outline is what one load brings at this k. What is "
        "new is strong, what was loaded before is pale; the number in an element of C counts its "
        "FMAs"
    )
    return stepper(frames, labels, f"Outer product, step by step. {words}.", f"{words}.", "k")


def _stored(trace: Trace, thread: int) -> tuple[list[int], list[int]]:
    """The rows and columns of C that a thread stores, counted from the first of the block."""
    stores = (a for a in trace.accesses if (a.array, a.kind) == ("C", "store"))
    element, storing = lanes.touched(stores)
    sides = np.divmod(element, trace.shapes["C"][1])
    mine = storing == thread
    if not mine.any():
        raise ValueError(f"thread {thread} stores nothing of C in block {trace.block[:2]}")
    rows, columns = (np.unique(side[mine] - side.min()).tolist() for side in sides)
    return rows, columns


def _loads(trace: Trace, array: str, thread: int, last: int, side: int) -> list[_Load]:
    """The thread's loads of the first tile. Which index of the array is k shows in the last
    thread of the block: its other one runs over the rows (side 0) or columns that it stores."""
    wanted = _stored(trace, last)[side]
    indices = {index for load in _first_tile(trace, array, last) for index in load}
    fitting = [n for n in (0, 1) if sorted({index[n] for index in indices}) == wanted]
    if not fitting:
        raise ValueError(f"the loads of {array} are not those of the rows or columns stored")
    other = fitting[-1]
    own = _first_tile(trace, array, thread)
    return [_Load(tuple((index[1 - other], index[other]) for index in load)) for load in own]


def _first_tile(trace: Trace, array: str, thread: int) -> list[list[tuple[int, int]]]:
    """Of each load by a thread, before its warp stores again: the last two indices of each
    word."""
    loads: list[list[tuple[int, int]]] = []
    down, across = trace.shapes[array][-2:]
    for access in trace.accesses:
        if access.warp != thread // LANES or access.space != "shared":
            continue
        if access.kind == "store" and loads:
            break
        if (access.array, access.kind) == (array, "load"):
            word, loading = lanes.touched([access])
            own = word[loading == thread] % (down * across)
            loads += [[divmod(n, across) for n in own.tolist()]] if own.size else []
    return loads


def _draw(
    loads: tuple[list[_Load], ...],
    sides: tuple[list[int], list[int]],
    names: list[str],
    k: int,
    times: int,
) -> str:
    """One frame; `times`: how many multiply-adds an element of C has had by then."""
    rows, columns = sides
    cell = min(CELL, WIDE // len(columns))
    left, top = LEFT + cell + GAP, TOP + cell + GAP
    numbers = cell >= READABLE
    line = {"stroke": "currentColor"}
    parts = [
        svg.text(LEFT - 4, 14, f"k = {k}", font_weight="bold"),
        svg.text(left, TOP - 8, f"B: {names[1]}"),
        svg.text(4, top + 14, "A:"),
        svg.text(4, top + 30, names[0]),
    ]
    for side, (places, colour) in enumerate(zip(sides, ("blue", "vermilion"))):
        x, y, right, down = (left, TOP, cell, 0) if side else (LEFT, top, 0, cell)
        corners = [(x + right * n, y + down * n) for n in range(len(places))]
        at_k = ((n, load) for n, load in enumerate(loads[side]) if load.k == k)
        new = {place: n for n, load in at_k for at, place in load.words if at == k}
        for place, (x, y) in zip(places, corners):
            look = {"fill": PALETTE[colour], "fill_opacity": NEW if place in new else HELD}
            parts.append(svg.rect(x, y, cell, cell, **look, **line, stroke_opacity=0.25))
            if numbers:
                parts.append(_number(x, y, cell, place))
        parts.append(_frames([(new.get(place), *c) for place, c in zip(places, corners)], cell))
    sums = [(left + cell * j, top + cell * i) for i, j in np.ndindex(len(rows), len(columns))]
    look = {"fill": PALETTE["green"], "fill_opacity": 0.3}
    parts.append(svg.cells(sums, cell, **look, **line, stroke_opacity=0.4))
    if numbers:
        parts += [_number(x, y, cell, times) for x, y in sums]
    height = max(top + cell * len(rows), top + 36) + 22
    parts.append(svg.text(left, height - 6, f"C: {len(rows)} x {len(columns)} sums in registers"))
    return svg.narrow(height, *parts, width=max(svg.NARROW, left + cell * len(columns) + 4))


def _number(x: float, y: float, cell: float, number: int) -> str:
    return svg.text(x + cell / 2, y + cell / 2 + 4, number, font_size=11, text_anchor="middle")


def _frames(places: Iterable[tuple[int | None, float, float]], cell: float) -> str:
    """A frame around the neighbours that one load brings: (load or None, x, y) of each."""
    runs: list[list[Any]] = []
    for load, x, y in places:
        if load is not None and runs and runs[-1][0] == load:
            runs[-1][3:] = [x, y]
        else:
            runs.append([load, x, y, x, y])
    path = svg.boxes(
        (x, y, right - x + cell, bottom - y + cell)
        for load, x, y, right, bottom in runs
        if load is not None
    )
    return svg.outline(path or "M0 0", stroke_width=2)
