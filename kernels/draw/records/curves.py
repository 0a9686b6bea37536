"""Curves of what was measured beside timings: errors by K, waiting by warps, scaling by GPUs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from anywarp.draw import INK, PALETTE, Figure, from_matplotlib, style

from ...analysis.waiting import load_gbs, multiply_add_tflops
from ...records import CUBLAS
from .labels import write
from .plots import MARKERS, grid, log2_axis, recorded_on, sentence

HALF = 0.5  # the share at which twice the GPUs bring nothing any more, or nearly so


def chains(record: Mapping[str, Any], totals: str) -> Figure:
    """The largest error by how many k tensor cores sum on their own, a curve for each kind, and a
    cross for the step of this label: the shortest chains, whose sums go to totals."""
    depth = record["chained depth"]
    words = []
    with style() as plt:
        fig, ax = plt.subplots()
        looks = zip(PALETTE.values(), MARKERS)
        for (kind, rows), (colour, marker) in zip(record["chains"].items(), looks):
            lengths, errors = [int(x) for x in rows], list(rows.values())
            ax.plot(lengths, errors, marker + "-", color=colour, clip_on=False, label=kind)
            of = record["errors"][kind][str(depth)]
            ax.axhline(of[CUBLAS], color=colour, linewidth=0.9, linestyle=":")
            ax.plot(lengths[0], of[totals], "X", color=colour, markersize=9)
            ends = f"{errors[0]:.2g} for {lengths[0]} to {errors[-1]:.2g}"
            words.append(f"{kind}: {ends}, with totals {of[totals]:.2g}, cuBLAS {of[CUBLAS]:.2g}")
        label = "k that tensor cores sum before an addition in float32"
        log2_axis(ax, lengths[::-1], label, math.ceil(len(lengths) / 2))  # the last for certain
        _axes(ax, "roundoffs", log=True)
        ax.legend(frameon=False, labelcolor=INK)
    origin = recorded_on(record)
    return from_matplotlib(
        fig,
        f"Largest error by the length of chains, K = {depth}, {origin}. {'. '.join(words)}.",
        f"The largest error for K = {depth}, by how many k the tensor cores sum before an "
        f"addition in float32 takes the sum over. Crosses: chains of {lengths[0]}, and totals "
        f"besides. Dotted: cuBLAS in FP32. {sentence(origin)}",
    )


def _axes(ax: Any, unit: str, title: str = "", log: bool = False) -> None:
    """What stands around a panel, but for the horizontal axis."""
    if log:
        ax.set_yscale("log")
        ax.minorticks_off()
    ax.set_ylabel(unit)
    ax.set_title(title, loc="left", fontsize="medium")
    grid(ax)


def latency(record: Mapping[str, Any]) -> Figure:
    """Cycles from a load to its value, by the bytes that the loads walk through.

    record: what `kernels.latency` returns.
    """
    waits = record["latency"]
    sizes = [wait["bytes"] for wait in waits["by size"]]
    cycles = [wait["cycles"] for wait in waits["by size"]]
    with style() as plt:
        fig, ax = plt.subplots()
        ax.plot(sizes, cycles, "o-", color=PALETTE["blue"], clip_on=False)
        at: dict[str, Any] = dict(dx=0, dy=3, ha="right", va="baseline")
        for name, colour in (("shared memory", "green"), ("multiply-add", "vermilion")):
            ax.axhline(waits[name], color=PALETTE[colour], linewidth=1.2)
            write(ax, sizes[-1], waits[name], f"{name}: {waits[name]:.0f}", PALETTE[colour], **at)
        log2_axis(ax, sizes, "bytes that the loads walk through", math.ceil(len(sizes) / 3), _bytes)
        _axes(ax, "cycles", recorded_on(record), log=True)
        ax.set_yticks([5, 10, 20, 50, 100, 200, 500, 1000], minor=False)
        ax.yaxis.set_major_formatter("{x:g}")
    ends = ", ".join(f"{_bytes(s)}: {c:.0f}" for s, c in list(zip(sizes, cycles))[::3])
    return from_matplotlib(
        fig,
        f"Cycles of a load, {recorded_on(record)}. {ends}. Shared memory "
        f"{waits['shared memory']:.0f}, a multiply-add {waits['multiply-add']:.0f}.",
        "Cycles of one load in a chain, in which each needs the one before, by the bytes walked "
        "through. Flat stretches, from the left: L1, L2, device memory. "
        f"{sentence(recorded_on(record))}",
    )


def hiding(record: Mapping[str, Any]) -> Figure:
    """What comes through by the warps on each SM, for one and for several chains in a thread.

    record: what `kernels.latency` returns. Above loads from device memory, below multiply-adds.
    """
    panels: Sequence[tuple[str, str, Callable[..., float]]] = (
        ("loads", "GB/s from device memory", load_gbs),
        ("multiply-adds", "TFLOPS", multiply_add_tflops),
    )
    words = []
    with style() as plt:
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
                ends = f"{rates[0]:.3g} with {warps[0]} warp to {rates[-1]:.3g} with {warps[-1]}"
                words.append(f"{name}, {label}: {ends}")
            log2_axis(ax, warps, "warps on each SM" if ax is axes[-1] else "", len(warps))
            _axes(ax, unit)
            ax.set_ylim(bottom=0)
            ax.legend(frameon=False, labelcolor=INK)
        axes[0].set_title(recorded_on(record), loc="left", fontsize="medium")
    return from_matplotlib(
        fig,
        f"Rates by the number of warps, {recorded_on(record)}. {'. '.join(words)}.",
        "Chains of loads (above) and of multiply-adds (below): each instruction needs the one "
        "before it, and a thread has one, two or four chains. More warps, or more chains, bring "
        f"more through, up to a roof. {sentence(recorded_on(record))}",
    )


def _bytes(number: int) -> str:
    """A number of bytes in its largest binary unit, rounded down: "48 KiB"."""
    units = ((30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "B"))
    return next(f"{number >> power} {unit}" for power, unit in units if number >= 1 << power)


def scaling(
    curves: Mapping[str, Sequence[tuple[int, float]]],
    points: Iterable[tuple[str, int, float]],
    bands: Mapping[str, tuple[float, float]] | None = None,
) -> Figure:
    """Curves by label, of (GPUs, share of linear), and measured points (label, GPUs, share).

    The share is 1 where n GPUs are n times as fast as one. `bands` has, for a label, the least and
    the most that was measured as a factor of the model: what lies between is shaded around its
    curve, from two GPUs on. Raises ValueError without a curve.
    """
    if not curves or not all(curves.values()):
        raise ValueError("scaling needs curves of (GPUs, share)")
    points = list(points)
    with style() as plt:
        fig, ax = plt.subplots()
        looks = zip(itertools.cycle(PALETTE.values()), itertools.cycle(("-", "--", "-.")))
        for (label, curve), (colour, line) in zip(curves.items(), looks):
            ax.plot(*zip(*curve), line, color=colour, label=label)
            if bands and label in bands:
                ranks, shares = zip(*(point for point in curve if point[0] > 1))
                edges = ([factor * share for share in shares] for factor in bands[label])
                ax.fill_between(ranks, *edges, color=colour, alpha=0.15, linewidth=0)
        for marker, name in zip("os^Dv", dict.fromkeys(name for name, *_ in points)):
            own = [(ranks, share) for of, ranks, share in points if of == name]
            look: dict[str, Any] = dict(color=INK, fillstyle="none", linestyle="", markersize=7)
            ax.plot(*zip(*own), marker, label=f"{name}, measured", **look)
        ax.axhline(HALF, color=INK, linewidth=0.9, linestyle=":")
        ticks = sorted({ranks for curve in curves.values() for ranks, _ in curve})
        log2_axis(ax, ticks, "GPUs", most=7)
        ax.set_ylim(0, 1.05)
        ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
        _axes(ax, "share of linear")
        ax.legend(loc="lower left", frameon=False)
    words = [
        f"{label}: {curve[0][1]:.1%} at {curve[0][0]} to {curve[-1][1]:.1%} at {curve[-1][0]}"
        for label, curve in curves.items()
    ]
    words += [
        f"band, {x}: {low:.2f} to {high:.2f} of it" for x, (low, high) in (bands or {}).items()
    ]
    words += [f"measured, {label}: {share:.1%} at {ranks}" for label, ranks, share in points]
    alt = f"Share of linear scaling against the number of GPUs. {'. '.join(words)}."
    return from_matplotlib(fig, alt, "Lines are the model, marks are measured.")
