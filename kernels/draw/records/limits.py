"""What an SM takes for a multiply-add of a warp, and what each of its limits would allow."""

from __future__ import annotations

from collections.abc import Sequence

from anywarp.draw import INK, PALETTE, Figure, from_matplotlib, style

from ...analysis import sm_limits as bounds
from ...ladder.step import Step
from ...records import RECORDED_ON, results, stalls
from .labels import write
from .plots import label_of, recorded_on, sentence, three_digits

LOOKS = {  # and how much lower a mark stands, since limits may be alike
    bounds.DATA: ("o", PALETTE["blue"], 0),
    bounds.TAG: ("^", PALETTE["green"], 0.22),
    bounds.ISSUE: ("s", PALETTE["vermilion"], -0.22),
    bounds.FMA: ("|", INK, 0),
}
LEAST = 0.1  # cycles: a limit of less is not drawn
TICKS = (0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 40)
TRACED = (128, 128, 256)  # for the tags, which are counted there


def limits(steps: Sequence[Step]) -> Figure:
    """A row for each step, as recorded on an H200: a mark for each limit, in cycles of an SM for
    each multiply-add of a warp, a line from the largest to what it took, and their ratio. Raises
    KeyError for a step whose counters were not recorded."""
    record = stalls(RECORDED_ON)
    words, named, longest, apart = [], set[str](), 1.0, False
    with style() as plt:
        width = plt.rcParams["figure.figsize"][0]
        fig, ax = plt.subplots(figsize=(width, 1.5 + 0.4 * len(steps)))
        for y, step in enumerate(steps):
            counted = record["steps"][step.label]
            taken = bounds.cycles(counted)
            each = bounds.limits(counted, step.trace(*TRACED, keep=()))
            for name, value in each.items():
                marker, colour, lower = LOOKS[name]
                if value >= LEAST:
                    label = None if name in named else name
                    named.add(name)
                    ax.plot(value, y + lower, marker, color=colour, label=label, markersize=7)
            longest = max(longest, 1.7 * taken)
            largest = max(each, key=lambda name: each[name])
            ax.plot([each[largest], taken], [y, y], color=INK, alpha=0.4, linewidth=5, zorder=0)
            apart |= each[largest] < 0.97 * taken  # the mark hides a shorter line
            share = f"{each[largest] / taken:.0%}"
            write(ax, taken, y, share, INK, dx=6)
            words.append(f"{label_of(step.label)} {taken:.3g}, {share} of it {largest}")
        ax.set_yticks(range(len(steps)), [_named(step, record["size"]) for step in steps])
        ax.tick_params(axis="y", length=0)
        ax.set(xscale="log", xlim=(LEAST, longest), ylim=(len(steps) - 0.5, -0.5))
        ticks = [tick for tick in TICKS if tick < longest]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
        ax.set_xlabel("cycles of an SM for each FMA of a warp", loc="right")
        fig.legend(loc="outside upper center", ncols=2, frameon=False)
    where = f"{recorded_on(record)}, M = N = K = {record['size']}"
    return from_matplotlib(
        fig,
        f"Cycles of an SM for each FMA of a warp, {where}: {'; '.join(words)}.",
        "Each mark shows how few cycles one limit of an SM alone would allow; the number is the "
        "largest of them as a share of the cycles that a multiply-add of a warp really took. "
        + "A line joins these two: no single limit explains what it spans. " * apart
        + f"Limits of less than {LEAST} cycles are left out. {sentence(where)}",
    )


def _named(step: Step, size: int) -> str:
    """The step, and its speed, if that was recorded."""
    found = results(RECORDED_ON).find(step, size)
    return label_of(step.label) + (f"\n{three_digits(found.tflops)} TFLOPS" if found else "")
