"""Waves: blocks go to the SMs in groups as large as the GPU holds, and the last is not full; and
which tiles of C the blocks of the first ones take, which is rasterisation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from anywarp.analysis import Occupancy
from anywarp.draw import PALETTE, Figure, lanes, svg

from ...analysis.hierarchy import SMS
from ...ladder import raster
from ...ladder.step import Step
from ...records import RECORDED_ON

LEFT, WIDE, TOP, PITCH, BAR = 58, 200, 24, 18, 13
SHOWN = 8  # waves that are all drawn; of more, the first ones and the last
HIGH = 96  # pixels of the curve
GRID, GAP = 160, 22  # pixels of a grid, and between two
GRID_TOP = 40
FIRST = {"fill": PALETTE["blue"], "fill_opacity": 0.75}
SECOND = {"fill": PALETTE["vermilion"], "fill_opacity": 0.45}
LATER = {"fill": "currentColor", "fill_opacity": 0.12}
LINES = {"stroke": "currentColor", "stroke_opacity": 0.3, "stroke_width": 0.5}


class Waves(NamedTuple):
    """`blocks` on a GPU that holds `slots` at a time."""

    blocks: int
    slots: int

    @property
    def number(self) -> int:
        return -(-self.blocks // self.slots)

    @property
    def efficiency(self) -> float:
        """The share of the slots that are used, if every block takes as long as every other."""
        return self.blocks / (self.number * self.slots)


def waves(step: Step, M: int, N: int, live: Occupancy | None = None) -> Figure:
    """How the blocks of a step fill the SMs of an H200, wave after wave.

    Below is the share of places used for other square sizes, if M = N. live: what
    `kernels.here.occupancy` says of the step, for the waves of that GPU below. It is taken that all
    blocks take the same time and that a wave begins when the one before has ended.
    """
    per_sm = step.occupancy().blocks
    run = Waves(math.prod(step.grid(M, N)), SMS * per_sm)
    parts, bottom = _rows(run, of="" if live is None else f"{RECORDED_ON}, {SMS} SMs: ")
    words = (
        f"{step.label} at M = {M}, N = {N}: {lanes.count(run.blocks, 'block')} on {SMS} SMs, "
        f"{per_sm} on each at a time, are {run.blocks / run.slots:.2f} waves, so that {run.number} "
        f"are run: {run.efficiency:.1%} of the places are used"
    )
    if M == N:
        parts += _curve(step, M, run, bottom + 34)
        bottom += HIGH + 58
        words += ". The curve has the same share for other sizes"
    if live is not None:
        own = Waves(run.blocks, live.sms * live.blocks)
        drawn, bottom = _rows(own, bottom + 12, f"{live.gpu}, {live.sms} SMs: ")
        parts += drawn
        words += (
            f". Below: {live.sms} SMs of the {live.gpu}, {live.blocks} blocks on each, run "
            f"{own.number} waves, with {own.efficiency:.1%} of the places used"
        )
    return Figure(
        svg.narrow(bottom + 4, *parts),
        f"Waves. {words}.",
        f"{words}. The dashed part of the last wave is empty. All blocks are taken to last as "
        "long as one another.",
    )


def _rows(run: Waves, top: float = 0, of: str = "") -> tuple[list[str], float]:
    """A bar for each wave, as long as it has blocks, and where they end."""
    numbers: list[int | None] = list(range(1, run.number + 1))
    if run.number > SHOWN:
        numbers = [*range(1, SHOWN - 1), None, run.number]
    head = f"{of}{run.slots} blocks at a time"
    parts = [svg.text(0 if of else LEFT, top + 12, head, font_weight="bold")]
    look = {"fill": PALETTE["blue"], "fill_opacity": 0.7}
    for row, number in enumerate(numbers):
        y = top + TOP + PITCH * row
        if number is None:
            parts.append(svg.text(LEFT, y + 11, f"and {run.number - SHOWN + 1} more like these"))
            continue
        blocks = min(run.slots, run.blocks - (number - 1) * run.slots)
        used = WIDE * blocks / run.slots
        words = f"{blocks} blocks" if blocks == run.slots else f"{blocks} of {run.slots}"
        parts += [
            svg.text(LEFT - 6, y + 11, f"wave {number}", "end"),
            svg.rect(LEFT, y, used, BAR, **look),
            svg.text(LEFT + WIDE + 6, y + 11, words),
        ]
        if blocks < run.slots:
            empty = LEFT + used, y, WIDE - used, BAR
            parts.append(svg.rect(*empty, **svg.OUTLINE, stroke_dasharray="3 2"))
    return parts, top + TOP + PITCH * len(numbers)


def _curve(step: Step, size: int, here: Waves, top: float) -> list[str]:
    """The share of places used against M = N, in steps of the tile, up to twice this size."""
    side, largest = max(step.defines["BM"], step.defines["BN"]), 2 * size
    sizes = range(side, largest + 1, side)
    shares = [Waves(math.prod(step.grid(n, n)), here.slots).efficiency for n in sizes]
    points = [
        f"{svg.short(LEFT + WIDE * n / largest)} {svg.short(top + HIGH * (1 - share))}"
        for n, share in zip(sizes, shares)
    ]
    x, y = LEFT + WIDE * size / largest, top + HIGH * (1 - here.efficiency)
    curve = {"fill": "none", "stroke": PALETTE["blue"]}
    return [
        svg.text(LEFT, top - 12, "places used, against M = N", font_weight="bold"),
        svg.outline(f"M{LEFT} {top}v{HIGH}h{WIDE}"),
        svg.path("M" + "L".join(points), **curve, stroke_width=1.6),
        svg.tag("circle", cx=x, cy=y, r=4.5, **svg.OUTLINE, stroke_width=2),
        svg.text(LEFT - 6, top + 8, "100%", "end"),
        svg.text(LEFT - 6, top + HIGH, "0%", "end"),
        *(
            svg.text(LEFT + WIDE * n // 4, top + HIGH + 16, largest * n // 4, "middle")
            for n in range(1, 5)
        ),
        svg.text(x, top + HIGH - 8, f"{size}: {here.efficiency:.1%}", "middle"),
    ]


def rasterisation(steps: Sequence[Step], M: int, N: int, K: int) -> Figure:
    """Which tiles of C are computed together, for each of one or two steps.

    A wave is a block on each SM of an H200; it is taken that one begins when the one before has
    ended. Raises ValueError for another number of steps, and for one whose file does not say which
    tile is a block's.
    """
    if not 0 < len(steps) <= 2:
        raise ValueError(f"rasterisation of one or two steps, not of {len(steps)}")
    parts, words, bottom = [], [], 0.0
    for n, step in enumerate(steps):
        made, said, low = _grid(step, M, N, K, n * (GRID + GAP))
        parts += made
        words.append(said)
        bottom = max(bottom, low)
    legend = [("first wave", FIRST), ("second", SECOND), ("later", LATER)]
    parts.append(svg.legend(0, bottom + 22, legend))
    said = "; ".join(words)
    return Figure(
        svg.narrow(bottom + 30, *parts),
        f"Rasterisation at M = {M}, N = {N}, {SMS} blocks at a time. {said}.",
        f"Each rectangle is a tile of C. {said}. Blocks of a wave read each row of tiles of A and "
        "each column of tiles of B once if L2 keeps them.",
    )


def _grid(step: Step, M: int, N: int, K: int, left: float) -> tuple[list[str], str, float]:
    """The tiles of C, coloured by wave, what is said of them, and where they end."""
    columns, rows = step.grid(M, N)[:2]
    wide = GRID / columns
    high = wide * step.defines["BM"] / step.defines["BN"]
    by_wave = raster.waves(raster.places(step, M, N), SMS)
    parts = []
    for number, wave in enumerate(by_wave):
        look = (FIRST, SECOND)[number] if number < 2 else LATER
        path = svg.boxes(
            (left + column * wide, GRID_TOP + row * high, wide, high)
            for row, column in wave.tolist()
        )
        parts.append(svg.path(path, **look, **LINES))
    first = by_wave[0]
    down, across = (len(set(numbers)) for numbers in first.T.tolist())
    megabytes = raster.bytes_read(step, M, N, K, SMS) / 1e6
    parts += [
        svg.text(left, 14, f"GROUP = {step.defines['GROUP']}", font_weight="bold"),
        svg.text(left, 30, f"{down} rows, {across} columns; {megabytes:.0f} MB", font_size=11),
    ]
    said = (
        f"GROUP = {step.defines['GROUP']}: the {len(first)} blocks of the first wave have {down} "
        f"rows and {across} columns of tiles, and all {len(by_wave)} waves read {megabytes:.0f} MB"
    )
    return parts, said, GRID_TOP + rows * high
