"""Where wgmma finds a factor in shared memory: its core matrices, by their descriptor."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .. import analysis
from ..ptx.warps.descriptor import Descriptor
from . import svg
from .figure import PALETTE
from .stepper import Stepper, stepper

CORE_ROWS = 8  # of a core matrix
CORE_ROW_BYTES = 16  # bytes of a row of it
DEEP = 8  # halves of k in such a row
LINE = CORE_ROWS * CORE_ROW_BYTES
LEFT, WIDE = 62, 44  # of the factor
RIGHT, CELL = 212, 18  # of shared memory
TOP, HIGH = 40, 13
NOW, OTHERS = PALETTE["vermilion"], PALETTE["blue"]
STRONG, PALE = 0.5, 0.2  # opacity


def core_matrices(descriptor: Descriptor, rows: int) -> Stepper:
    """The core matrices of one wgmma's factor, one after another, and the bytes where each lies.

    descriptor: K-major, without a swizzle. rows: of A, or columns of B, a multiple of 8, of halves.
    At the left is the factor, whose rows have 32 bytes of k, at the right shared memory, a line of
    128 bytes under the other. Addresses are those of `analysis.tile_addresses`. Raises ValueError
    for other arguments.
    """
    if descriptor.swizzle or rows < CORE_ROWS or rows % CORE_ROWS:
        raise ValueError("wanted are no swizzle, and rows in eights")
    address = analysis.tile_addresses(descriptor, rows, 2 * DEEP, CORE_ROW_BYTES // DEEP)
    units = address.reshape(rows // CORE_ROWS, CORE_ROWS, 2, DEEP)[..., 0]  # where each begins
    first = int(address.min()) // LINE * LINE
    lines = (int(address.max()) - first) // LINE + 1
    starts = units.transpose(2, 0, 1) - first  # (unit, eight rows, row)
    ground = _ground(starts, lines, first)
    frames, labels = [], []
    for unit, group in np.ndindex(starts.shape[:2]):
        frames.append(_draw(starts, unit, group, ground, max(lines, rows // CORE_ROWS)))
        steps = [
            f"{times} x {name}" for times, name in ((group, "stride"), (unit, "leading")) if times
        ]
        labels.append(
            f"rows {CORE_ROWS * group} to {CORE_ROWS * group + CORE_ROWS - 1}, k {DEEP * unit} to "
            f"{DEEP * unit + DEEP - 1}: from byte {first + int(starts[unit, group, 0])} on, "
            + " + ".join(["start", *steps])
        )
    words = (
        f"A factor of one wgmma, {rows} rows and {2 * DEEP} of k, in core matrices of {CORE_ROWS} "
        f"rows of {CORE_ROW_BYTES} bytes, and where they lie in shared memory. Descriptor: "
        f"{descriptor}. The numbers are rows{', every other one' if _labelled(rows) > 1 else ''}."
    )
    return stepper(frames, labels, f"Core matrices, one by one. {words}", words, "core matrices")


def _labelled(rows: int) -> int:
    """Of so many rows every one has its number, or every second: three digits need two places."""
    return 1 if rows <= 100 else 2


def _place(start: int) -> tuple[float, float]:
    """Of a row of a core matrix, in the drawing of shared memory."""
    line, byte = divmod(int(start), LINE)
    return RIGHT + CELL * byte / CORE_ROW_BYTES, TOP + HIGH * line


def _boxes(places: Iterable[tuple[float, float]], wide: float) -> str:
    """The path data of boxes at these places, each of this width and as high as a line."""
    return svg.boxes((x, y, wide, HIGH) for x, y in places)


def _ground(starts: np.ndarray, lines: int, first: int) -> list[str]:
    """What all frames have: the factor, the lines of shared memory, and what is read of them."""
    groups = starts.shape[1]
    factor = [(LEFT + WIDE * u, TOP + HIGH * g) for u in range(2) for g in range(groups)]
    memory = [(RIGHT, TOP + HIGH * n) for n in range(lines)]
    faint = {"fill": "currentColor", "fill_opacity": 0.04, "stroke": "currentColor"}
    return [
        svg.text(LEFT + WIDE, 14, "factor", "middle"),
        svg.text(RIGHT + CELL * 4, 14, "shared memory", "middle"),
        svg.text(LEFT - 5, TOP - 6, "rows", "end", font_size=11),
        svg.text(RIGHT - 6, TOP - 6, "byte", "end", font_size=11),
        *(
            svg.text(LEFT + WIDE * (u + 0.5), TOP - 6, _span("k ", DEEP, u), "middle", font_size=11)
            for u in range(2)
        ),
        *_beside(LEFT - 5, [_span("", CORE_ROWS, group) for group in range(groups)]),
        *_beside(RIGHT - 6, [first + LINE * n for n in range(lines)]),
        svg.path(_boxes(factor, WIDE), stroke_opacity=0.35, **faint),
        svg.path(_boxes(memory, 8 * CELL), stroke_opacity=0.2, **faint),
        svg.path(_boxes(map(_place, starts.ravel()), CELL), fill=OTHERS, fill_opacity=PALE),
    ]


def _span(what: str, size: int, n: int) -> str:
    """The first and the last of the n-th group of `size`: "k 8–15"."""
    return f"{what}{size * n}–{size * n + size - 1}"


def _beside(right: float, words: Iterable[object]) -> list[str]:
    """One at the left of each line."""
    return [
        svg.text(right, TOP + HIGH * n + 10.5, word, "end", font_size=10)
        for n, word in enumerate(words)
    ]


def _draw(starts: np.ndarray, unit: int, group: int, ground: list[str], lines: int) -> str:
    """One frame: a core matrix in both places, and the numbers of its rows."""
    mine = [_place(start) for start in starts[unit, group]]
    corner = LEFT + WIDE * unit, TOP + HIGH * group
    every = _labelled(starts.shape[1] * CORE_ROWS)
    now = {"fill": NOW, "fill_opacity": STRONG}
    others = {"fill": OTHERS, "fill_opacity": PALE}
    legend = [("this core matrix", now), ("the others", others)]
    numbers = [(x + CELL / 2, y + 10.5, CORE_ROWS * group + n) for n, (x, y) in enumerate(mine)]
    return svg.narrow(
        TOP + HIGH * lines + 34,
        *ground,
        svg.path(_boxes([corner], WIDE), **now),
        svg.path(_boxes(mine, CELL), **now),
        svg.texts(numbers[::every], font_size=10, text_anchor="middle"),
        svg.legend(4, TOP + HIGH * lines + 24, legend),
    )
