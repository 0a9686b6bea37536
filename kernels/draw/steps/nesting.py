"""Block, warp and thread: whose elements of C lie in whose, each magnified from the one before."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anywarp import Trace
from anywarp.analysis import LANES
from anywarp.draw import PALETTE, Figure, lanes, svg

from ...ladder.attempt import small_shape
from ...ladder.step import Step

NOBODY = -1
WIDE, HIGH, LARGEST = 154, 150, 36  # pixels of a picture at the most, and of an element
TITLE, BETWEEN = 22, 26  # the room for a row's titles, and between the rows
COLOURS = [PALETTE[name] for name in ("blue", "vermilion", "green")]


Part = tuple["slice[int, int, None]", "slice[int, int, None]"]  # rows and columns


def nesting(step: Step) -> Figure:
    """C, a block's part of it, a warp's part of that and a thread's, as four pictures in a chain.

    The step is traced with a few tiles; shown are block (0, 0), its warp 0 and that warp's thread
    0. What is marked in one picture is the next one, from its first to its last row and column.
    Everything is drawn from the addresses of the stores of C.
    """
    M, N, K = small_shape(step)
    across, down = step.grid(M, N)
    blocks = [(x, y, 0) for y in range(down) for x in range(across)]
    block_of, warp_of, lane_of = _owners(step.trace(M, N, K, keep=blocks), blocks)
    marks = [block_of == 0]
    marks.append(marks[0] & (warp_of == 0))
    marks.append(marks[1] & (lane_of == 0))
    names = ["block (0, 0)", "warp 0", "thread 0"]
    every = np.ones_like(marks[0])
    codes = [  # what lines part in each picture: blocks, warps, threads, elements
        block_of,
        np.where(marks[0], warp_of, NOBODY),
        np.where(marks[1], lane_of, NOBODY),
        np.where(marks[2], np.arange(every.size).reshape(every.shape), NOBODY),
    ]
    shown = [every, *marks]
    panels = _panels([_bounds(part) for part in shown])
    parts = [
        _link(panel, following, _bounds(mark), mark is marks[1], colour)
        for panel, following, mark, colour in zip(panels, panels[1:], marks, COLOURS)
    ]
    for n, (panel, code) in enumerate(zip(panels, codes)):
        mark = marks[min(n, 2)]
        parts += _panel(panel, mark, code, COLOURS[min(n, 2)], COLOURS[n - 1] if n else None)
    titles = [f"{n + 1}. {name}" for n, name in enumerate(("C", *names))]
    parts += [_title(*item) for item in zip(range(4), titles, shown, panels)]
    height = max(panel.bottom for panel in panels[2:]) + TITLE
    sizes = [_size(mark) for mark in marks]
    words = (
        f"Block (0, 0) stores {sizes[0]} of C, warp 0 of it {sizes[1]}, thread 0 of that {sizes[2]}"
    )
    return Figure(
        svg.narrow(height, *parts),
        f"Nesting. {words}.",
        f"{words}. What is coloured in a picture is the next one, magnified; lines part blocks, "
        "warps, threads and elements.",
    )


def _owners(trace: Trace, blocks: list[tuple[int, int, int]]) -> np.ndarray:
    """Who stores each element of C: the number of the block in `blocks`, the warp, and the lane in
    it, as three arrays; NOBODY where nothing was kept."""
    owners = np.full((3, *trace.shapes["C"]), NOBODY)
    flat = owners.reshape(3, -1)
    for access in trace.accesses:
        if (access.array, access.kind) == ("C", "store"):
            element, thread = lanes.touched([access])
            flat[:2, element] = [[blocks.index(access.block)], [access.warp]]
            flat[2, element] = thread % LANES
    return owners


def _bounds(inside: np.ndarray) -> Part:
    """From the first to the last row and column."""
    ends = [np.flatnonzero(inside.any(axis))[[0, -1]].tolist() for axis in (1, 0)]
    (top, bottom), (left, right) = ends
    return slice(top, bottom + 1), slice(left, right + 1)


class _Panel(NamedTuple):
    """A picture of a part of C."""

    x: float
    y: float
    cell: float
    frame: Part

    @property
    def right(self) -> float:
        return self.place(self.frame)[2]

    @property
    def bottom(self) -> float:
        return self.place(self.frame)[3]

    def place(self, part: Part) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of a part of C that lies in the picture."""
        top, left = self.frame[0].start, self.frame[1].start
        return (
            self.x + self.cell * (part[1].start - left),
            self.y + self.cell * (part[0].start - top),
            self.x + self.cell * (part[1].stop - left),
            self.y + self.cell * (part[0].stop - top),
        )


def _panels(frames: list[Part]) -> list[_Panel]:
    """Two above, from left to right, and two below, from right to left."""
    sizes = [(f[0].stop - f[0].start, f[1].stop - f[1].start) for f in frames]
    cells = [min(WIDE / columns, HIGH / rows, LARGEST) for rows, columns in sizes]
    high, wide = ([cell * size[n] for cell, size in zip(cells, sizes)] for n in (0, 1))
    left, below = svg.NARROW - 2 - WIDE, TITLE + max(high[:2]) + BETWEEN
    xs = 2, left + (WIDE - wide[1]) / 2, left + (WIDE - wide[2]) / 2, 2
    ys = TITLE, TITLE, below, below
    return [_Panel(*each) for each in zip(xs, ys, cells, frames)]


def _panel(
    panel: _Panel, mark: np.ndarray, code: np.ndarray, colour: str, around: str | None
) -> list[str]:
    """What is marked, the lines between owners, and a frame."""
    x, y, cell, frame = panel
    line = svg.OUTLINE if around is None else svg.OUTLINE | {"stroke": around}
    return [
        svg.path(svg.areas(mark[frame], x, y, cell), fill=colour, fill_opacity=0.6),
        svg.outline(svg.borders(code[frame], x, y, cell), stroke_opacity=0.5, stroke_width=0.7),
        svg.rect(x, y, panel.right - x, panel.bottom - y, **line, stroke_width=2),
    ]


def _link(panel: _Panel, next_: _Panel, part: Part, down: bool, colour: str) -> str:
    """Two lines from a part of one picture to the next, which shows it."""
    left, top, right, bottom = panel.place(part)
    if down:
        ends = [(left, bottom, next_.x, next_.y), (right, bottom, next_.right, next_.y)]
    else:
        x, end = (right, next_.x) if next_.x > panel.x else (left, next_.right)
        ends = [(x, top, end, next_.y), (x, bottom, end, next_.bottom)]
    numbers = [map(svg.short, map(float, each)) for each in ends]
    d = "".join("M{} {}L{} {}".format(*each) for each in numbers)
    return svg.path(d, fill="none", stroke=colour, stroke_dasharray="3 2")


def _title(n: int, name: str, shown: np.ndarray, panel: _Panel) -> str:
    """Above the pictures of the first row, below those of the second."""
    right = n in (1, 2)
    x, anchor = (svg.NARROW - 2, "end") if right else (2, None)
    y = panel.y - 8 if n < 2 else panel.bottom + 16
    return svg.text(x, y, f"{name}: {_size(shown)}", anchor, font_size=11)


def _size(inside: np.ndarray) -> str:
    """ "8 x 4": the rows and columns with an element, whatever lies between them."""
    return " x ".join(str(int(inside.any(axis).sum())) for axis in (1, 0))
