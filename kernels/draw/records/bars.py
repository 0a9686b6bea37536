"""A bar for each step or variant: how fast it is next to cuBLAS, and what its warps wait for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anywarp.draw import INK, PALETTE, Figure, from_matplotlib, style
from anywarp.trace.metrics import ISSUE_ACTIVE, REASONS, STALLED

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
    records = [results.at(name, size) for name in names]
    groups = [(results, size, records)]
    if live is not None and live.select(CUBLAS):
        own = live.select(CUBLAS)[-1].M
        timed = [record for name in names if (record := live.find(name, own))]
        groups.append((live, own, timed))
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
    """The step or variant of each bar, the first on top."""
    ax.set_yticks(range(len(labels)), [_two_lines(label_of(label)) for label in labels])
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()


def _two_lines(label: str) -> str:
    """The defines of a variant below the name of its step."""
    words = label.split(" ")
    at = next((n for n, word in enumerate(words) if "=" in word), len(words))
    return "\n".join(filter(None, (" ".join(words[:at]), " ".join(words[at:]))))


# Reasons that belong together, as a reader knows them, with a colour and a density for each.
GROUPS: dict[str, tuple[tuple[str, ...], str, float]] = {
    "global memory": (("long_scoreboard", "lg_throttle"), PALETTE["vermilion"], 0.85),
    "shared memory": (("short_scoreboard", "mio_throttle"), PALETTE["blue"], 0.85),
    "barrier": (("barrier",), PALETTE["purple"], 0.85),
    "math pipe, dispatch": (("math_pipe_throttle", "dispatch_stall"), PALETTE["green"], 0.85),
    "fixed latency": (("wait",), PALETTE["violet"], 0.6),
    "another warp issues": (("not_selected",), INK, 0.45),
    "issues": (("selected",), INK, 0.85),
    "others": ((), INK, 0.15),  # what belongs to none
}


def stalls(steps: Sequence[Any]) -> Figure:
    """Of steps and variants (or their labels), as recorded on an H200: for each instruction issued,
    the cycles that a warp spends on each reason, side by side; beside the bar, the share of
    cycles in which a scheduler issues. Raises ValueError for what was not recorded."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import Rectangle

    record = recorded(RECORDED_ON)
    names = [getattr(step, "label", step) for step in steps]
    for name in names:
        if name not in record["steps"]:
            raise ValueError(f"no stalls of {name} are recorded; there are {list(record['steps'])}")
    shares = {name: _grouped(record["steps"][name]) for name in names}
    issue = {name: record["steps"][name][ISSUE_ACTIVE] for name in names}
    with style():
        width = plt.rcParams["figure.figsize"][0]
        fig, ax = plt.subplots(figsize=(width, 1.6 + HEIGHT * len(names)))
        for y, name in enumerate(names):
            start = 0.0
            for group, value in shares[name].items():
                _, colour, alpha = GROUPS[group]
                ax.barh(y, value, left=start, color=colour, alpha=alpha, height=0.7)
                start += value
            write(ax, start, y, f"{issue[name]:.0f} %", INK, dx=5)
        _name_rows(ax, names)
        ax.set_xlim(0, 1.1 * max(sum(each.values()) for each in shares.values()))
        ax.set_xlabel("cycles of a warp for each instruction that it issues", loc="right")
        handles = [
            Rectangle((0, 0), 1, 1, color=colour, alpha=alpha)
            for _, colour, alpha in GROUPS.values()
        ]
        fig.legend(handles, list(GROUPS), loc="outside upper center", ncols=3, frameon=False)
    where = f"{recorded_on(record)}, M = N = K = {record['size']}"
    caption = (
        "What a warp's cycles between two of its instructions go to, as Nsight Compute counts "
        f"them; the number is the share of cycles in which a scheduler issues. {sentence(where)}"
    )
    words = "; ".join(
        f"{label_of(name)}: "
        + ", ".join(f"{group} {value:.1f}" for group, value in shares[name].items())
        + f", issuing {issue[name]:.0f} %"
        for name in names
    )
    return from_matplotlib(fig, f"Stall reasons, {where}. {words}.", caption)


def _grouped(metrics: dict[str, float]) -> dict[str, float]:
    """The cycles of each group, and of what belongs to none."""
    cycles = {reason: metrics[STALLED.format(reason)] for reason in REASONS}
    grouped = {group: sum(map(cycles.pop, own)) for group, (own, *_) in GROUPS.items()}
    return grouped | {"others": sum(cycles.values())}
