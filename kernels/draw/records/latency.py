"""Charts of waiting: how long a load takes, and how many warps it takes to hide it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from anywarp.draw import INK, PALETTE, Figure, from_matplotlib, style

from ...analysis.waiting import load_gbs, multiply_add_tflops
from .labels import write
from .plots import grid, log2_axis, recorded_on, sentence

MARKERS = "osD"


def latency(record: Mapping[str, Any], caption: str = "") -> Figure:
    """Cycles from a load to its value, by the bytes that the loads walk through.

    record: what `kernels.latency` returns.
    """
    import matplotlib.pyplot as plt

    waits = record["latency"]
    sizes = [one["bytes"] for one in waits["by size"]]
    cycles = [one["cycles"] for one in waits["by size"]]
    with style():
        fig, ax = plt.subplots()
        ax.plot(sizes, cycles, "o-", color=PALETTE["blue"], clip_on=False)
        for name, colour in (("shared memory", "green"), ("multiply-add", "vermilion")):
            ax.axhline(waits[name], color=PALETTE[colour], linewidth=1.2)
            words = f"{name}: {waits[name]:.0f}"
            ha, va = "right", "baseline"
            write(ax, sizes[-1], waits[name], words, PALETTE[colour], dx=0, dy=3, ha=ha, va=va)
        log2_axis(ax, sizes, "bytes that the loads walk through", math.ceil(len(sizes) / 3), _bytes)
        ax.set_yscale("log")
        ax.set_yticks([5, 10, 20, 50, 100, 200, 500, 1000], minor=False)
        ax.yaxis.set_major_formatter("{x:g}")
        ax.minorticks_off()
        ax.set_ylabel("cycles")
        ax.set_title(recorded_on(record), loc="left", fontsize="medium")
        grid(ax)
    ends = ", ".join(f"{_bytes(s)}: {c:.0f}" for s, c in list(zip(sizes, cycles))[::3])
    return from_matplotlib(
        fig,
        f"Cycles of a load, {recorded_on(record)}. {ends}. Shared memory "
        f"{waits['shared memory']:.0f}, a multiply-add {waits['multiply-add']:.0f}.",
        caption
        or "Cycles of one load in a chain, in which each needs the one before, by the bytes walked "
        f"through. Each rise is a cache that has become too small. {sentence(recorded_on(record))}",
    )


def hiding(record: Mapping[str, Any], caption: str = "") -> Figure:
    """What comes through by the warps on each SM, for one and for several chains in a thread.

    record: what `kernels.latency` returns. Above loads from device memory, below multiply-adds.
    """
    import matplotlib.pyplot as plt

    panels: Sequence[tuple[str, str, Callable[..., float]]] = (
        ("loads", "GB/s from device memory", load_gbs),
        ("multiply-adds", "TFLOPS", multiply_add_tflops),
    )
    words = []
    with style():
        fig, axes = plt.subplots(len(panels), figsize=(6.4, 6.4), sharex=True)
        for ax, (name, unit, rate) in zip(axes, panels):
            rows = record[name]
            numbers = sorted({row["chains"] for row in rows})
            for chains, colour, marker in zip(numbers, PALETTE.values(), MARKERS):
                own = [row for row in rows if row["chains"] == chains]
                rates = [rate(row, record["provenance"]["multiprocessors"]) for row in own]
                label = f"{chains} at a time" if chains > 1 else "1 at a time in each thread"
                warps = [row["warps"] for row in own]
                ax.plot(warps, rates, marker + "-", color=colour, label=label, clip_on=False)
                words.append(
                    f"{name}, {label}: {rates[0]:.3g} with {warps[0]} warp to {rates[-1]:.3g} "
                    f"with {warps[-1]}"
                )
            log2_axis(ax, warps, "warps on each SM" if ax is axes[-1] else "", len(warps))
            ax.set_ylim(bottom=0)
            ax.set_ylabel(unit)
            ax.legend(frameon=False, labelcolor=INK)
            grid(ax)
        axes[0].set_title(recorded_on(record), loc="left", fontsize="medium")
    return from_matplotlib(
        fig,
        f"Rates by the number of warps, {recorded_on(record)}. {'. '.join(words)}.",
        caption
        or "Chains of loads (above) and of multiply-adds (below): each instruction needs the one "
        "before it, and a thread has one, two or four chains. More warps, or more chains, bring "
        f"more through, up to a roof. {sentence(recorded_on(record))}",
    )


def _bytes(number: int) -> str:
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if number >= 1 << power:
            return f"{number >> power} {unit}"
    return f"{number} B"
