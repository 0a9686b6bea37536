"""Speed against size where the last wave of blocks is not full: a staircase."""

from __future__ import annotations

import math

from anywarp.draw import INK, PALETTE, Figure, from_matplotlib, style

from ...ladder.step import Step
from ...records import Results
from .plots import grid, label_of, origin_of, sentence


def staircase(results: Results, step: Step) -> Figure:
    """TFLOPS of square products of a step, timed and by a model of waves with two constants.

    An SM with all the blocks that it holds takes one time for a tile of each of them, an SM with a
    single block another, and all blocks begin and end together. The first is that of the size whose
    places are used best, the other what lies between the smallest and the largest size whose blocks
    are all alone. Raises ValueError if fewer than two such sizes were timed.
    """
    timed = {r.M: r for r in results.select(step) if r.M == r.N == r.K}
    sms, places = results.provenance["multiprocessors"], step.occupancy().blocks
    slots = sms * places
    blocks = {n: math.prod(step.grid(n, n)) for n in range(min(timed), max(timed) + 1)}
    single = [n for n in timed if blocks[n] <= sms]
    if len(single) < 2:
        raise ValueError(f"no two sizes were timed at which blocks of {step.label} are alone")
    tiles = {n: -(-n // step.defines["BK"]) for n in blocks}
    first, last = single[0], single[-1]
    alone = (timed[last].ms - timed[first].ms) / (tiles[last] - tiles[first])
    waves = {n: -(-blocks[n] // slots) for n in blocks}
    fullest = max(timed, key=lambda n: blocks[n] / waves[n])
    whole = timed[fullest].ms / waves[fullest] / tiles[fullest]

    def model(n: int) -> float:
        rest = blocks[n] % slots
        each = whole * (blocks[n] // slots) + (rest > 0) * (whole if rest > sms else alone)
        return float(2e-9 * n**3 / (each * tiles[n]))

    off = max(abs(model(n) / r.tflops - 1) for n, r in timed.items())
    with style() as plt:
        fig, ax = plt.subplots()
        ax.plot([*blocks], [*map(model, blocks)], color=PALETTE["vermilion"], label="waves")
        rates = [r.tflops for r in timed.values()]
        ax.plot([*timed], rates, "o", color=PALETTE["blue"], markersize=4, label="timed")
        for n in (n for n in waves if waves[n] > waves.get(n - 1, waves[n])):
            ax.axvline(n, color=INK, alpha=0.3, linewidth=0.8, linestyle=":")
        ax.set(ylim=(0, None), xlabel="M = N = K", ylabel="TFLOPS")
        grid(ax)
        ax.legend(loc="lower right", frameon=False, labelcolor=INK)
    words = (
        f"{label_of(step.label)}, {origin_of(results)}: {slots} blocks at a time; a tile takes "
        f"{1e6 * alone:.0f} ns in a block alone on its SM, {1e6 * whole:.0f} ns in {places} of "
        f"them together. Timed and model differ by at most {off:.1%}"
    )
    caption = "Points: timed. Line: those two times and full waves; dotted: where a wave begins."
    return from_matplotlib(fig, f"Staircase. {words}.", f"{caption} {sentence(words)}")
