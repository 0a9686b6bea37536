"""Waves: blocks go to the SMs in groups as large as the GPU holds, and the last is not full."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from anywarp.analysis import Occupancy
from anywarp.draw import PALETTE, Figure, lanes, svg

from ...analysis.hierarchy import CHIPS
from ...ladder.step import Step
from ...records import RECORDED_ON

SMS = CHIPS[RECORDED_ON].sms
LEFT, WIDE, TOP, PITCH, BAR = 58, 200, 24, 18, 13
SHOWN = 8  # waves that are all drawn; of more, the first ones and the last
HIGH = 96  # pixels of the curve


class Waves(NamedTuple):
    """`blocks` on a GPU that holds `slots` at a time."""

    blocks: int
    slots: int

    @property
    def number(self) -> int:
        return -(-self.blocks // self.slots)

    @property
    def last(self) -> int:
        """Blocks of the last wave."""
        return self.blocks - (self.number - 1) * self.slots

    @property
    def efficiency(self) -> float:
        """The share of the slots that are used, if every block takes as long as every other."""
        return self.blocks / (self.number * self.slots)


def waves(
    of: Any,
    M: int | None = None,
    N: int | None = None,
    *,
    sms: int = SMS,
    per_sm: int | None = None,
    live: Occupancy | None = None,
) -> Figure:
    """How the blocks of a launch fill the SMs, wave after wave.

    of: a number of blocks, or a Step with M and N, of which the grid, how many blocks an SM holds
    (on compute capability 9.0), and the efficiency of other square sizes are computed. sms: of the
    GPU; per_sm: blocks on an SM at a time, of a number of blocks 1 unless given. live: what
    `kernels.here.occupancy` says of the step, for the waves of that GPU below. It is taken that
    all blocks take the same time and that a wave begins when the one before has ended. Raises
    ValueError for fewer blocks than one, and a Step without M and N.
    """
    if isinstance(of, Step):
        if M is None or N is None:
            raise ValueError("waves of a step need M and N")
        per_sm = per_sm or of.occupancy().blocks
        run = Waves(math.prod(of.grid(M, N)), sms * per_sm)
        who = f"{of.label} at M = {M}, N = {N}: "
    else:
        run = Waves(int(of), sms * (per_sm or 1))
        who = ""
    if run.blocks < 1 or run.slots < 1:
        raise ValueError(f"waves of {run.blocks} blocks on {run.slots} places: 1 at least")
    named = "" if live is None or sms != SMS else f"{RECORDED_ON}, {sms} SMs: "
    parts, bottom = _rows(run, of=named)
    words = (
        f"{who}{lanes.count(run.blocks, 'block')} on {sms} SMs, {per_sm or 1} on each at a time, "
        f"are {run.blocks / run.slots:.2f} waves, so that {run.number} are run: "
        f"{run.efficiency:.1%} of the places are used"
    )
    if isinstance(of, Step) and M is not None and M == N:
        parts += _curve(of, M, run, bottom + 34)
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
        blocks = run.last if number == run.number else run.slots
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
