"""One size, many kernels: a bar for each step or variant, next to cuBLAS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..measure.records import CUBLAS, Results
from .figure import INK, PALETTE, Figure, from_matplotlib, style
from .plots import label_of, origin_of, three_digits

HEIGHT = 0.42  # inches for each bar


def bars(results: Results, steps: Sequence[Any], size: int = 4096, caption: str = "") -> Figure:
    """TFLOPS of steps and variants (or their labels) at M = N = K = size, and of cuBLAS.

    A bar is the median, the mark on it the 10th to 90th percentile, the line the measured FMA
    peak. Raises ValueError if one of the steps was not measured at that size.
    """
    import matplotlib.pyplot as plt

    names = [*(getattr(step, "label", step) for step in steps), CUBLAS]
    records = [results.at(name, size) for name in names]
    peak = results.fma_peak_tflops
    with style():
        width = plt.rcParams["figure.figsize"][0]
        fig, ax = plt.subplots(figsize=(width, 0.9 + HEIGHT * len(names)))
        for y, (name, r) in enumerate(zip(names, records)):
            colour = INK if name == CUBLAS else PALETTE["blue"]
            ax.barh(y, r.tflops, color=colour, alpha=0.35 if name == CUBLAS else 0.75, height=0.7)
            ax.plot([r.tflops_p10, r.tflops_p90], [y, y], color=INK, linewidth=2.5)
            ax.annotate(
                three_digits(r.tflops),
                (r.tflops_p90, y),
                xytext=(5, 0),
                color=INK,
                textcoords="offset points",
                va="center",
                annotation_clip=False,
            )
        ax.axvline(peak, color=INK, linewidth=0.9)
        ax.set_yticks(range(len(names)), [_two_lines(label_of(name)) for name in names])
        ax.tick_params(axis="y", length=0)
        ax.invert_yaxis()
        ax.set_xlim(0, peak)
        ax.set_xlabel(f"TFLOPS at M = N = K = {size}; FMA peak {peak:.3g}")
        ax.set_title(origin_of(results), loc="left", fontsize="medium")
    caption = caption or (
        "Median TFLOPS; the mark at the end of a bar spans the 10th to the 90th percentile, the "
        "right edge is the measured FMA peak."
    )
    rates = ", ".join(
        f"{label_of(name)} {three_digits(r.tflops)}" for name, r in zip(names, records)
    )
    alt = f"TFLOPS at M = N = K = {size}, {origin_of(results)}. FMA peak {peak:.3g}. {rates}."
    return from_matplotlib(fig, alt, caption)


def _two_lines(label: str) -> str:
    """The defines of a variant below the name of its step."""
    words = label.split(" ")
    at = next((n for n, word in enumerate(words) if "=" in word), len(words))
    return "\n".join(filter(None, (" ".join(words[:at]), " ".join(words[at:]))))
