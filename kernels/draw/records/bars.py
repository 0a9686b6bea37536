"""One size, many kernels: a bar for each step or variant, next to cuBLAS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anywarp.draw import INK, PALETTE, Figure, from_matplotlib, style

from ...records import CUBLAS, Record, Results
from .labels import write
from .plots import label_of, origin_of, three_digits

HEIGHT = 0.42  # inches for each bar


def bars(
    results: Results,
    steps: Sequence[Any],
    size: int = 4096,
    caption: str = "",
    live: Results | None = None,
) -> Figure:
    """TFLOPS of steps and variants (or their labels) at M = N = K = size, and of cuBLAS.

    A bar is the median, the mark on it the 10th to 90th percentile, the line the measured FMA
    peak. Of another GPU, `live`, there are bars below, on a scale of their own, at the largest size
    at which cuBLAS was timed there. Raises ValueError if one of the steps was not measured at that
    size; of those that `live` lacks, there is no bar.
    """
    import matplotlib.pyplot as plt

    names = [*(getattr(step, "label", step) for step in steps), CUBLAS]
    records = [results.at(name, size) for name in names]
    groups = [(results, size, records)]
    if live is not None and live.select(CUBLAS):
        own = live.select(CUBLAS)[-1].M
        timed = [found for name in names if (found := live.find(name, own))]
        groups.append((live, own, timed))
    with style():
        width = plt.rcParams["figure.figsize"][0]
        rows = [len(of) for _, _, of in groups]
        size_of = width, sum(0.9 + HEIGHT * count for count in rows)
        fig, axes = plt.subplots(len(groups), figsize=size_of, height_ratios=rows, squeeze=False)
        for ax, group in zip(axes.flat, groups):
            _draw(ax, *group)
    caption = caption or (
        "Median TFLOPS; the mark at the end of a bar spans the 10th to the 90th percentile, the "
        "right edge is the measured FMA peak."
    )
    alt = " ".join(
        f"TFLOPS at M = N = K = {n}, {origin_of(of)}. FMA peak {of.fma_peak_tflops:.3g}. "
        + ", ".join(f"{label_of(r.step)} {three_digits(r.tflops)}" for r in found)
        + "."
        for of, n, found in groups
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
    name_rows(ax, [r.step for r in records])
    ax.set_xlim(0, peak)
    ax.set_xlabel(f"TFLOPS at M = N = K = {size}; FMA peak {peak:.3g}")
    ax.set_title(origin_of(results), loc="left", fontsize="medium")


def name_rows(ax: Any, labels: Sequence[str]) -> None:
    """The step or variant of each bar, the first on top."""
    ax.set_yticks(range(len(labels)), [_two_lines(label_of(label)) for label in labels])
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()


def _two_lines(label: str) -> str:
    """The defines of a variant below the name of its step."""
    words = label.split(" ")
    at = next((n for n, word in enumerate(words) if "=" in word), len(words))
    return "\n".join(filter(None, (" ".join(words[:at]), " ".join(words[at:]))))
