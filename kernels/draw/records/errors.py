"""Charts of errors: how wrong products are by K, and by how long tensor cores sum alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from anywarp.draw import INK, PALETTE, Figure, from_matplotlib, style

from ...records import CUBLAS
from .plots import grid, label_of, log2_axis, recorded_on, sentence

MARKERS = "osD^v"
UNIT = "roundoffs"


def errors(record: Mapping[str, Any], names: Mapping[str, str], caption: str = "") -> Figure:
    """The largest error of products by K, a panel for each kind of matrix.

    record: what `kernels.errors` returns. names: labels of steps, or of cuBLAS, and what they are
    called. Raises ValueError for a label that was not measured.
    """
    import matplotlib.pyplot as plt

    kinds = record["errors"]
    _require(names, next(iter(next(iter(kinds.values())).values())))
    looks = _looks(names)
    words = []
    with style():
        fig, axes = plt.subplots(len(kinds), figsize=(6.4, 2.6 * len(kinds)), sharex=True)
        for ax, (kind, rows) in zip(axes, kinds.items()):
            depths = [int(K) for K in rows]
            for label, name in names.items():
                found = [rows[K][label] for K in rows]
                ax.plot(depths, found, clip_on=False, label=name, **looks[label])
                words.append(f"{kind}, {name}: {found[0]:.2g} to {found[-1]:.2g}")
            _axes(ax, depths, kind, "K" if ax is axes[-1] else "")
        handles, texts = axes[0].get_legend_handles_labels()
        fig.legend(handles, texts, loc="outside upper center", ncols=2, frameon=False)
    origin = recorded_on(record)
    return from_matplotlib(
        fig,
        f"Largest error by K, {origin}. {'. '.join(words)}.",
        caption
        or f"The largest error of {record['side']} x {record['side']} products of three kinds of "
        f"matrices, in roundoffs of |A| |B|, by K. {sentence(origin)}",
    )


def chains(record: Mapping[str, Any], caption: str = "") -> Figure:
    """The largest error by how many k tensor cores sum on their own, a curve for each kind."""
    import matplotlib.pyplot as plt

    depth = record["chained depth"]
    words = []
    with style():
        fig, ax = plt.subplots()
        for (kind, rows), colour, marker in zip(
            record["chains"].items(), PALETTE.values(), MARKERS
        ):
            lengths, found = [int(x) for x in rows], list(rows.values())
            ax.plot(lengths, found, marker + "-", color=colour, clip_on=False, label=kind)
            in_float32 = record["errors"][kind][str(depth)][CUBLAS]
            ax.axhline(in_float32, color=colour, linewidth=0.9, linestyle=":")
            words.append(
                f"{kind}: {found[0]:.2g} for {lengths[0]} to {found[-1]:.2g}, cuBLAS "
                f"{in_float32:.2g}"
            )
        _axes(ax, lengths, "", "k that tensor cores sum before an addition in float32")
        ax.legend(frameon=False, labelcolor=INK)
    origin = recorded_on(record)
    return from_matplotlib(
        fig,
        f"Largest error by the length of chains, K = {depth}, {origin}. {'. '.join(words)}.",
        caption
        or f"The largest error for K = {depth}, by how many k the tensor cores sum before an "
        f"addition in float32 takes the sum over. Dotted: cuBLAS in FP32. {sentence(origin)}",
    )


def _looks(names: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """cuBLAS in ink, the others in colours; what has none left is dashed."""
    others = [label for label in names if label != CUBLAS]
    colours = list(PALETTE.values())
    looks = {
        label: {
            "color": colours[n % len(colours)],
            "marker": MARKERS[n % len(MARKERS)],
            "linestyle": "-" if n < len(colours) else "--",
        }
        for n, label in enumerate(others)
    }
    return looks | {CUBLAS: {"color": INK, "marker": "", "linestyle": "-"}}


def _axes(ax: Any, lengths: Sequence[int], kind: str, label: str) -> None:
    log2_axis(ax, lengths, label, math.ceil(len(lengths) / 2))
    ax.set_yscale("log")
    ax.minorticks_off()
    ax.set_ylabel(UNIT)
    ax.set_title(kind, loc="left", fontsize="medium")
    grid(ax)


def _require(names: Mapping[str, str], measured: Mapping[str, float]) -> None:
    for label in names:
        if label not in measured:
            raise ValueError(
                f"no errors of {label_of(label)} were measured; there are {', '.join(measured)}"
            )
