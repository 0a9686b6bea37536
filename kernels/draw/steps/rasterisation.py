"""Rasterisation: the tiles of C that the blocks of the first waves take."""

from __future__ import annotations

from collections.abc import Sequence

from anywarp.draw import PALETTE, Figure, svg

from ...ladder.raster import bytes_read, places, waves
from ...ladder.step import Step
from .waves import SMS

WIDE, GAP = 160, 22  # pixels of a grid, and between two
TOP = 40
FIRST = {"fill": PALETTE["blue"], "fill_opacity": 0.75}
SECOND = {"fill": PALETTE["vermilion"], "fill_opacity": 0.45}
LATER = {"fill": "currentColor", "fill_opacity": 0.12}
LINES = {"stroke": "currentColor", "stroke_opacity": 0.3, "stroke_width": 0.5}


def rasterisation(steps: Sequence[Step], M: int, N: int, K: int, slots: int = SMS) -> Figure:
    """Which tiles of C are computed together, for each of one or two steps.

    slots: how many blocks the GPU holds at a time, by default one on each SM of an H200. A wave
    is as many blocks; it is taken that one begins when the one before has ended. Raises ValueError
    for another number of steps, and for one whose file does not say which tile is a block's.
    """
    if not 0 < len(steps) <= 2:
        raise ValueError(f"rasterisation of one or two steps, not of {len(steps)}")
    parts, words, bottom = [], [], 0.0
    for n, step in enumerate(steps):
        made, said, low = _grid(step, M, N, K, slots, n * (WIDE + GAP))
        parts += made
        words.append(said)
        bottom = max(bottom, low)
    legend = [("first wave", FIRST), ("second", SECOND), ("later", LATER)]
    parts.append(svg.legend(0, bottom + 22, legend))
    said = "; ".join(words)
    return Figure(
        svg.narrow(bottom + 30, *parts),
        f"Rasterisation at M = {M}, N = {N}, {slots} blocks at a time. {said}.",
        f"Each rectangle is a tile of C. {said}. Blocks of a wave read each row of tiles of A and "
        "each column of tiles of B once if L2 keeps them.",
    )


def _grid(
    step: Step, M: int, N: int, K: int, slots: int, left: float
) -> tuple[list[str], str, float]:
    """The tiles of C, coloured by wave, what is said of them, and where they end."""
    columns, rows = step.grid(M, N)[:2]
    wide = WIDE / columns
    high = wide * step.defines["BM"] / step.defines["BN"]
    by_wave = waves(places(step, M, N), slots)
    parts = []
    for number, wave in enumerate(by_wave):
        look = (FIRST, SECOND)[number] if number < 2 else LATER
        path = svg.boxes(
            (left + column * wide, TOP + row * high, wide, high) for row, column in wave.tolist()
        )
        parts.append(svg.path(path, **look, **LINES))
    first = by_wave[0]
    down, across = (len(set(numbers)) for numbers in first.T.tolist())
    megabytes = bytes_read(step, M, N, K, slots) / 1e6
    parts += [
        svg.text(left, 14, f"GROUP = {step.defines['GROUP']}", font_weight="bold"),
        svg.text(left, 30, f"{down} rows, {across} columns; {megabytes:.0f} MB", font_size=11),
    ]
    said = (
        f"GROUP = {step.defines['GROUP']}: the {len(first)} blocks of the first wave have {down} "
        f"rows and {across} columns of tiles, and all {len(by_wave)} waves read {megabytes:.0f} MB"
    )
    return parts, said, TOP + rows * high
