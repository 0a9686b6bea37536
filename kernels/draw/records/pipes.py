"""The bytes of a product on their way from device memory to the threads, as pipes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anywarp.analysis import LANES, SECTOR_BYTES
from anywarp.draw import PALETTE, Figure, svg
from anywarp.trace.metrics import DRAM_READ, FFMA, L2_SECTORS, REQUESTS, SECTORS

from ...ladder.step import step as step_of
from ...records import RECORDED_ON, stalls
from .limits import TRACED
from .plots import label_of, recorded_on, sentence

PLACES = "threads", "L1", "L2", "device memory"
COLUMN, MIDDLE, WIDEST = svg.NARROW / 2, 58, 112  # units; the widest pipe of all
BOX, LONG = 18, 52  # heights of a place and of a pipe


def pipes(steps: Sequence[Any]) -> Figure:
    """A column for each step: how many bytes go from each memory to the next, as wide as they are.

    What L1 is asked for are the sectors of loads, as traced, times the multiply-adds of the record;
    what L2 and device memory deliver was counted on an H200 at the size of `kernels.stalls`, stores
    of C among the sectors of L2. Raises KeyError for a step that was not recorded.
    """
    record = stalls(RECORDED_ON)
    moved = {}
    for step in map(step_of, steps):
        counted, trace = record["steps"][step.label], step.trace(*TRACED, keep=())
        warps = counted[FFMA] / LANES
        asked, of_l1 = (warps * trace.per_fma(name.format("ld")) for name in (REQUESTS, SECTORS))
        amounts = of_l1 * SECTOR_BYTES, counted[L2_SECTORS] * SECTOR_BYTES, counted[DRAM_READ]
        moved[label_of(step.label)] = [x / 1e9 for x in (*amounts, asked)]
    scale = WIDEST / max(max(gb) for *gb, _ in moved.values())
    parts, words = [], []
    for n, (name, (*gb, asked)) in enumerate(moved.items()):
        left, y = 1 + n * COLUMN, 14.0
        parts.append(svg.text(left, y, name, font_weight="bold"))
        y += 8
        for place, amount in zip(PLACES, [*gb, None]):
            parts.append(svg.rect(left, y, 2 * MIDDLE, BOX, **svg.OUTLINE))
            parts.append(svg.text(left + MIDDLE, y + 13, place, "middle"))
            y += BOX
            if amount is not None:
                wide, said = amount * scale, f"{amount:.3g} GB"
                x = left + MIDDLE - wide / 2
                parts.append(svg.rect(x, y, wide, LONG, fill=PALETTE["blue"]))
                parts.append(svg.text(x + wide + 5, y + LONG / 2 + 4, said))
                y += LONG
        words.append(f"{name}: " + ", ".join(f"{p} {x:.3g} GB" for p, x in zip(PLACES[1:], gb)))
        words[-1] += f", in {asked:.3g} billion requests of L1"
    where = f"{recorded_on(record)}, M = N = K = {record['size']}"
    return Figure(
        svg.narrow(24 + 4 * BOX + 3 * LONG, *parts, width=COLUMN * len(moved)),
        f"Bytes that each memory delivers. {'; '.join(words)}.",
        "A pipe is as wide as the bytes that pass it: the sectors of loads that L1 is asked for, "
        "as traced; those that L2 is asked for, stores of C among them, and what device memory "
        f"delivers, as counted. {'; '.join(words)}. {sentence(where)}",
    )
