"""A bar for each step or variant: how fast it is next to cuBLAS, and what its warps wait for."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

from anywarp.draw import INK, PALETTE, Figure, from_matplotlib, style
from anywarp.trace.metrics import REASONS

from ...analysis.waiting import UNITS, compared, in_words
from ...records import CUBLAS, RECORDED_ON, Record, Results, stalls as recorded
from .labels import write
from .plots import label_of, origin_of, recorded_on, sentence, three_digits

HEIGHT = 0.42  # inches for each bar


def bars(
    results: Results, steps: Sequence[Any], size: int = 4096, live: Results | None = None
) -> Figure:
    """TFLOPS of steps and variants (or their labels) at M = N = K = size, and of cuBLAS.

    A bar is the median, the mark on it the 10th to 90th percentile, the line the measured FMA
    peak. Of another GPU, `live`, there are bars below, on a scale of their own, at the largest size
    at which cuBLAS was timed there. Raises ValueError if one of the steps was not measured at that
    size; of those that `live` lacks, there is no bar.
    """
    import matplotlib.pyplot as plt

    names = [*(getattr(step, "label", step) for step in steps), CUBLAS]
    groups = [(results, size, [results.at(name, size) for name in names])]
    if live is not None and live.select(CUBLAS):
        own = live.select(CUBLAS)[-1].M
        groups.append((live, own, [r for name in names if (r := live.find(name, own))]))
    with style():
        width = plt.rcParams["figure.figsize"][0]
        rows = [len(of) for _, _, of in groups]
        size_of = width, sum(0.9 + HEIGHT * count for count in rows)
        fig, axes = plt.subplots(len(groups), figsize=size_of, height_ratios=rows, squeeze=False)
        for ax, group in zip(axes.flat, groups):
            _draw(ax, *group)
    caption = (
        "Median TFLOPS; the mark at the end of a bar spans the 10th to the 90th percentile, the "
        "right edge is the measured FMA peak."
    )
    alt = " ".join(
        f"TFLOPS at M = N = K = {n}, {origin_of(of)}. FMA peak {of.fma_peak_tflops:.3g}. "
        + ", ".join(f"{label_of(r.step)} {three_digits(r.tflops)}" for r in shown)
        + "."
        for of, n, shown in groups
    )
    return from_matplotlib(fig, alt, caption)


def _draw(ax: Any, results: Results, size: int, records: Sequence[Record]) -> None:
    """The bars of one GPU."""
    peak = results.fma_peak_tflops
    for y, r in enumerate(records):
        colour = INK if r.step == CUBLAS else PALETTE["blue"]
        ax.barh(y, r.tflops, color=colour, alpha=0.35 if r.step == CUBLAS else 0.75, height=0.7)
        ax.plot([r.tflops_p10, r.tflops_p90], [y, y], color=INK, linewidth=2.5)
        write(ax, r.tflops_p90, y, three_digits(r.tflops), INK, dx=5)
    ax.axvline(peak, color=INK, linewidth=0.9)
    _name_rows(ax, [r.step for r in records])
    ax.set_xlim(0, peak)
    ax.set_xlabel(f"TFLOPS at M = N = K = {size}; FMA peak {peak:.3g}")
    ax.set_title(origin_of(results), loc="left", fontsize="medium")


def _name_rows(ax: Any, labels: Sequence[str]) -> None:
    """The step or variant of each bar, its defines on a second line, the first on top."""
    lines = [re.sub(r" (?=\S*=)", "\n", label_of(label), count=1) for label in labels]
    ax.set_yticks(range(len(labels)), lines)
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()


# A colour and a density for each reason: neighbours in the table are akin, and have one colour.
LOOKS = dict(zip(REASONS, itertools.product((INK, *PALETTE.values()), (0.5, 0.85))))
LOOKS |= {"issued": (INK, 0.85), "others": (INK, 0.15)}


def stalls(steps: Sequence[Any], per_fma: bool = False) -> Figure:
    """Of steps and variants (or their labels), as recorded on an H200: in how many of its cycles a
    scheduler issued, and why no warp was ready in the others. With `per_fma` a bar is as long as
    the cycles of an SM for each FMA of a warp. Raises ValueError for what was not recorded."""
    import matplotlib.pyplot as plt

    record = recorded(RECORDED_ON)
    found, (unit, form) = compared(record["steps"], steps, per_fma), UNITS[per_fma]
    first, *_ = found.values()
    with style():
        size = plt.rcParams["figure.figsize"][0], 0.9 + 0.22 * len(first) + HEIGHT * len(found)
        fig, ax = plt.subplots(figsize=size)
        for y, cycles in enumerate(found.values()):
            end = 0.0
            for reason, n in cycles.items():
                colour, alpha = LOOKS.get(reason, (INK, 0.3))
                bar = ax.barh(y, n, left=end, color=colour, alpha=alpha, height=0.7)
                bar.set_label(in_words(reason).replace(" (", "\n(") if cycles is first else "")
                end += n
            write(ax, end, y, format(end if per_fma else cycles["issued"], form), INK, dx=5)
        _name_rows(ax, list(found))
        ax.margins(x=0.1)  # for the numbers
        ax.set_xlabel(unit, loc="right")
        fig.legend(loc="outside upper center", ncols=2, frameon=False)
    where = f"{recorded_on(record)}, M = N = K = {record['size']}"
    number = "the whole" if per_fma else "what is issued"
    caption = (
        f"{sentence(unit)} The number is {number}. What is issued is counted. The rest, where no "
        "warp is ready, is shared out as warps were sampled then on an H100, or, of edited steps, "
        f"as all warps wait. {sentence(where)}"
    )
    words = "; ".join(
        f"{label_of(label)}: " + ", ".join(f"{name} {n:{form}}" for name, n in cycles.items())
        for label, cycles in found.items()
    )
    return from_matplotlib(fig, f"{sentence(f'{unit}, {where}')} {words}.", caption)
