"""The share of linear scaling against the number of GPUs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from anywarp.draw import INK, PALETTE, Figure, from_matplotlib, style

from .plots import log2_axis

HALF = 0.5  # the share at which twice the GPUs bring nothing any more, or nearly so


def scaling(
    curves: Mapping[str, Sequence[tuple[int, float]]],
    points: Iterable[tuple[str, int, float]] = (),
    caption: str = "",
) -> Figure:
    """Curves by label, of (GPUs, share of linear), and measured points (label, GPUs, share).

    The share is 1 where n GPUs are n times as fast as one. Raises ValueError without a curve.
    """
    import matplotlib.pyplot as plt

    if not curves or not all(curves.values()):
        raise ValueError("scaling needs curves of (GPUs, share)")
    points = list(points)
    with style():
        fig, ax = plt.subplots()
        for (label, curve), colour, line in zip(
            curves.items(), itertools.cycle(PALETTE.values()), itertools.cycle(("-", "--", "-."))
        ):
            ax.plot(*zip(*curve), line, color=colour, label=label)
        for _, ranks, share in points:
            ax.plot([ranks], [share], "o", color=INK, fillstyle="none", markersize=7)
        ax.axhline(HALF, color=INK, linewidth=0.9, linestyle=":")
        ticks = sorted({ranks for curve in curves.values() for ranks, _ in curve})
        log2_axis(ax, ticks, "GPUs", most=7)
        ax.set_ylim(0, 1.05)
        ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
        ax.set_ylabel("share of linear")
        ax.grid(axis="y", color=INK, alpha=0.12, linewidth=0.8)
        ax.legend(loc="lower left", frameon=False)
    words = [
        f"{label}: {curve[0][1]:.1%} at {curve[0][0]} to {curve[-1][1]:.1%} at {curve[-1][0]}"
        for label, curve in curves.items()
    ]
    words += [f"measured, {label}: {share:.1%} at {ranks}" for label, ranks, share in points]
    alt = f"Share of linear scaling against the number of GPUs. {'. '.join(words)}."
    return from_matplotlib(fig, alt, caption or "Lines are the model, circles are measured.")
