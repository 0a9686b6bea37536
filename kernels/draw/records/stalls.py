"""What the warps of each step wait for: a bar of reasons for each, and how often an SM issues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anywarp.draw import INK, PALETTE, Figure, from_matplotlib, style
from anywarp.trace.metrics import ISSUE_ACTIVE, REASONS, STALLED

from ...records import RECORDED_ON, stalls as recorded
from .bars import HEIGHT, name_rows
from .labels import write
from .plots import label_of, recorded_on, sentence

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


def stalls(steps: Sequence[Any], gpu: str = RECORDED_ON, caption: str = "") -> Figure:
    """Of steps and variants (or their labels), as recorded on a GPU: for each instruction issued,
    the cycles that a warp spends on each reason, side by side; beside the bar, the share of
    cycles in which a scheduler issues. Raises ValueError for what was not recorded."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import Rectangle

    record = recorded(gpu)
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
        name_rows(ax, names)
        ax.set_xlim(0, 1.1 * max(sum(each.values()) for each in shares.values()))
        ax.set_xlabel("cycles of a warp for each instruction that it issues", loc="right")
        handles = [
            Rectangle((0, 0), 1, 1, color=colour, alpha=alpha)
            for _, colour, alpha in GROUPS.values()
        ]
        fig.legend(handles, list(GROUPS), loc="outside upper center", ncols=3, frameon=False)
    where = f"{recorded_on(record)}, M = N = K = {record['size']}"
    caption = caption or (
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
