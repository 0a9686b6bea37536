"""Fragments of A and B in registers, and the multiply-adds that they feed, one k after another."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np

from anywarp import Trace
from anywarp.analysis import LANES
from anywarp.draw import PALETTE, Stepper, lanes, stepper, svg

from ...ladder.attempt import small_shape
from ...ladder.step import Step

CELL, WIDE = 28, 272  # pixels of an element at the most, and of all those of a row
LEFT, TOP, GAP = 54, 48, 12  # GAP: between a fragment and the products
NEW, HELD = 0.5, 0.12  # opacity of what is loaded at this k, and of what was there before


_Load = list[tuple[int, int]]  # of each word that it brings: k, and row of A or column of B


def outer_product(step: Step, thread: int = 0) -> Stepper:
    """The loads from shared memory of one thread, and the multiply-adds they make possible.

    The step is traced with a few tiles. A frame is one k of the first tile: the fragment of A at
    the left, that of B above, and an element of C for each pair of them, with the number of its
    multiply-adds so far. A load counts at the first k that needs it, whenever it was issued. Rows
    and columns are those of C that the thread stores; the loads are those of the trace. Raises
    ValueError for a thread that stores nothing, and for a step whose loads from shared memory are
    not those of such a product.
    """
    trace = step.trace(*small_shape(step))
    rows, columns = _stored(trace, thread)
    last = max(a.warp for a in trace.accesses) * LANES + LANES - 1
    names = sorted({a.array for a in trace.accesses if (a.space, a.kind) == ("shared", "load")})
    if len(names) != 2:
        raise ValueError(f"the kernel loads from {len(names)} arrays in shared memory, not from 2")
    # tile_a stands before tile_b
    A, B = (_loads(trace, name, thread, last, side) for side, name in enumerate(names))
    ks = sorted({k for load in A for k, _ in load})
    if ks != sorted({k for load in B for k, _ in load}):
        raise ValueError(f"{names[0]} and {names[1]} are not read for the same k")
    first_ks = [min(load)[0] for load in A + B]  # at which each is needed
    each = len(rows) * len(columns)
    frames, labels = [], []
    for n, k in enumerate(ks):
        frames.append(_draw((A, B), (rows, columns), names, k, n + 1))
        now, done = first_ks.count(k), sum(first <= k for first in first_ks)
        labels.append(
            f"k = {k}: {lanes.count(now, 'load')} for {lanes.count(each, 'FMA')}; "
            f"so far {done} for {each * (n + 1)}"
        )
    loads, fmas = len(A + B), each * len(ks)
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
    return [[(index[1 - other], index[other]) for index in load] for load in own]


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
        at_k = ((n, load) for n, load in enumerate(loads[side]) if min(load)[0] == k)
        new = {place: n for n, load in at_k for at, place in load if at == k}
        for place, (x, y) in zip(places, corners):
            look = {"fill": PALETTE[colour], "fill_opacity": NEW if place in new else HELD}
            parts.append(svg.rect(x, y, cell, cell, **look, **line, stroke_opacity=0.25))
            parts.append(_number(x, y, cell, place))
        parts.append(_frames([(new.get(place), *c) for place, c in zip(places, corners)], cell))
    sums = [(left + cell * j, top + cell * i) for i, j in np.ndindex(len(rows), len(columns))]
    look = {"fill": PALETTE["green"], "fill_opacity": 0.3}
    squares = svg.boxes((x, y, cell, cell) for x, y in sums)
    parts.append(svg.path(squares, **look, **line, stroke_opacity=0.4))
    parts += [_number(x, y, cell, times) for x, y in sums]
    height = max(top + cell * len(rows), top + 36) + 22
    parts.append(svg.text(left, height - 6, f"C: {len(rows)} x {len(columns)} sums in registers"))
    return svg.narrow(height, *parts, width=max(svg.NARROW, left + cell * len(columns) + 4))


def _number(x: float, y: float, cell: float, number: int) -> str:
    """A number in the middle of its cell."""
    return svg.text(x + cell / 2, y + cell / 2 + 4, number, font_size=11, text_anchor="middle")


def _frames(places: Iterable[tuple[int | None, float, float]], cell: float) -> str:
    """A frame around the neighbours that one load brings: (load or None, x, y) of each."""
    boxes = []
    for load, group in itertools.groupby(places, key=lambda place: place[0]):
        run = list(group)
        (_, x, y), (_, right, bottom) = run[0], run[-1]
        if load is not None:
            boxes.append((x, y, right - x + cell, bottom - y + cell))
    return svg.outline(svg.boxes(boxes) or "M0 0", stroke_width=2)
