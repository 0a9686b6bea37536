"""Which part of A and of B a block reads for its tile of C, step by step along K."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from anywarp.analysis import LANES
from anywarp.draw import PALETTE, Stepper, lanes, stepper, svg

COLOURS = {"A": "blue", "B": "vermilion", "C": "green"}
MARGIN, GAP, TOP = 2, 26, 20  # GAP: between the matrices, with their names
HIGHEST = 330  # of B and A or C together


class _Part(NamedTuple):
    """What is read of a matrix in one go: (rows, columns), by all shown and by one thread."""

    all: np.ndarray
    thread: np.ndarray


def tiles(step: Any, M: int, N: int, K: int, warp: int = 0) -> Stepper:
    """Where in A and B a block reads, one tile after another, and which part of C it stores.

    step: a Step, traced at this shape. A tile is what the block loads from A and B before it
    stores into shared memory and reads that again. Of a kernel without shared memory there are no
    tiles: then one warp is shown, and what its loads read one after another. The first active
    thread of `warp` has its elements outlined. The block is (1, 1) where the grid has it. All
    places are the addresses of the trace. Raises ValueError for a shape that the step cannot do, a
    warp that there is not, and if the drawing would get too large.
    """
    at = tuple(min(1, size - 1) for size in step.grid(M, N)[:2])
    trace = step.trace(M, N, K, keep=at)
    shared = any(a.space == "shared" for a in trace.accesses)
    if warp not in {a.warp for a in trace.accesses}:
        raise ValueError(f"block {at} has no warp {warp} that reads or writes memory")
    accesses = [a for a in trace.accesses if shared or a.warp == warp]
    A = _parts(accesses, "A", (M, K), shared, warp)
    B = _parts(accesses, "B", (K, N), shared, warp)
    C = _mask([a for a in accesses if (a.array, a.kind) == ("C", "store")], (M, N))
    if len(A) != len(B):
        raise ValueError(f"{step.label} reads A {len(A)} times and B {len(B)} times")
    cell = min((svg.NARROW - MARGIN - GAP - 4) / (K + N), HIGHEST / (M + K))
    shown = lanes.chosen(None, len(A))
    frames = [_draw({"A": A, "B": B}, C, n, cell) for n in shown]
    what = "tile" if shared else "load"
    labels = [_label(what, n, len(A), A[n].all, B[n].all) for n in shown]
    some = f" The first {len(shown)} of {len(A)} are shown." if len(shown) < len(A) else ""
    who = f"Block {at}" if shared else f"Warp {warp} of block {at}"
    words = (
        f"{who} of a product with M = {M}, N = {N}, K = {K} stores {_extent(C)} of C. Solid is "
        f"what it loads from A and B at a time, pale what it has loaded before, outlined what one "
        f"thread loads.{some}"
    )
    return stepper(frames, labels, f"Tiles of A and B, step by step. {words}", words, f"{what}s")


def _label(what: str, n: int, count: int, A: np.ndarray, B: np.ndarray) -> str:
    """ "tile 2 of 8: k = 16 to 31, 1024 elements of A, 1024 of B"."""
    ks = [np.flatnonzero(k) for k in (A.any(0), B.any(1))]
    spans = list(dict.fromkeys(f"{k[0]} to {k[-1]}" if len(k) > 1 else f"{k[0]}" for k in ks))
    return (
        f"{what} {n + 1} of {count}: k = {' and '.join(spans)}, "
        f"{lanes.count(int(A.sum()), 'element')} of A, {int(B.sum())} of B"
    )


def _parts(
    accesses: Iterable[Any], array: str, shape: Sequence[int], shared: bool, warp: int
) -> list[_Part]:
    """The tiles of A or B, or the loads of one warp, in the order in which they are read.

    What a warp loads belongs to the tile that it stores next. A tile ends where somebody reads
    shared memory after stores to it.
    """
    groups: dict[int, list[Any]] = {}
    tile: dict[int, int] = {}  # of each warp
    pending: dict[int, list[Any]] = {}  # loads that it has not stored yet
    after_load: dict[int, bool] = {}
    for access in accesses:
        w = access.warp
        if (access.array, access.kind) == (array, "load"):
            if shared:
                pending.setdefault(w, []).append(access)
            else:
                groups[len(groups)] = [access]
        elif (access.space, access.kind) == ("shared", "store"):
            tile[w] = tile.get(w, 0) + after_load.pop(w, False)
            groups.setdefault(tile[w], []).extend(pending.pop(w, []))
        elif access.space == "shared":
            after_load[w] = True
    return [_part(group, shape, warp) for _, group in sorted(groups.items()) if group]


def _part(group: list[Any], shape: Sequence[int], warp: int) -> _Part:
    """What all warps read in this group of loads, and the first active lane of one."""
    own = [a for a in group if a.warp == warp]
    first = min((int(a.active.argmax()) for a in own), default=0)
    return _Part(_mask(group, shape), _mask(own, shape, warp * LANES + first))


def _mask(accesses: Iterable[Any], shape: Sequence[int], only: int | None = None) -> np.ndarray:
    """The elements that these accesses touch, of all their threads or of one."""
    inside = np.zeros(shape, bool)
    element, thread = lanes.touched(accesses)
    inside.flat[element if only is None else element[thread == only]] = True
    return inside


def _draw(parts: dict[str, list[_Part]], C: np.ndarray, now: int, cell: float) -> str:
    """One frame: A at the left, B above, C where their rows and columns meet."""
    (M, K), N = parts["A"][0].all.shape, C.shape[1]
    left, top = MARGIN + cell * K + GAP, TOP + cell * K + GAP
    corners = {"A": (MARGIN, top), "B": (left, TOP), "C": (left, top)}
    sizes = {"A": (M, K), "B": (K, N), "C": (M, N)}
    faint: dict[str, Any] = {"fill": "currentColor", "fill_opacity": 0.06, "stroke": "currentColor"}
    drawn = [
        svg.rect(x, y, cell * columns, cell * rows, **faint, stroke_opacity=0.5)
        for (x, y), (rows, columns) in zip(corners.values(), sizes.values())
    ]
    for name in "A", "B":
        colour = PALETTE[COLOURS[name]]
        done = np.logical_or.reduce([part.all for part in parts[name][:now]] or [C[:0, :0]])
        drawn += [
            _area(done, corners[name], cell, fill=colour, fill_opacity=0.25),
            _area(parts[name][now].all, corners[name], cell, fill=colour, fill_opacity=0.85),
            _area(parts[name][now].thread, corners[name], cell, **svg.OUTLINE, stroke_width=1.5),
        ]
    drawn.append(_area(C, corners["C"], cell, fill=PALETTE[COLOURS["C"]], fill_opacity=0.6))
    bottom = top + cell * M
    for name, (x, y) in corners.items():
        y = bottom + 15 if name == "A" else y - 6  # A is narrow if K is small, but below is room
        words = f"{name}, {sizes[name][0]} x {sizes[name][1]}"
        drawn.append(svg.text(x, y, words, font_weight="bold"))
    return svg.narrow(bottom + 20, *drawn)


def _area(inside: np.ndarray, corner: tuple[float, float], cell: float, **look: Any) -> str:
    """The elements that are true, as one area of cells from this corner."""
    return svg.tag("path", d=svg.areas(inside, *corner, cell), **look)


def _extent(inside: np.ndarray) -> str:
    """ "rows 64 to 127 and columns 0 to 63"; of what has holes, its outer bounds."""
    (top, bottom), (left, right) = (np.flatnonzero(inside.any(n))[[0, -1]] for n in (1, 0))
    return f"{_run('row', top, bottom)} and {_run('column', left, right)}"


def _run(what: str, first: int, last: int) -> str:
    """Neighbours in words: "row 3" or "rows 3 to 5"."""
    return f"{what} {first}" if first == last else f"{what}s {first} to {last}"
