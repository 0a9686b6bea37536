"""Waiting: what comes through meanwhile, by the timed chains of `latency.json`; and why a scheduler
has no warp that is ready, by Nsight Compute's counters in `stalls.json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anywarp.analysis import LANES, LINE_BYTES
from anywarp.trace.metrics import ISSUE_ACTIVE, REASONS, SAMPLED, STALLED

from .sm_limits import cycles as cycles_of_sm

LEAST = 0.02  # of the whole: a reason that has less in all columns is one of the others
# What cycles are given in, and how: as shares, or for each FMA.
UNITS = ("share of a scheduler's cycles", ".1%"), ("cycles of an SM for each FMA of a warp", ".3f")

Cycles = dict[str, float]  # by reason, with "issued"
Recorded = Mapping[str, Mapping[str, float]]  # the "steps" of `stalls.json`


def scheduler_cycles(metrics: Mapping[str, float], per_fma: bool = False) -> Cycles:
    """The cycles of a scheduler: "issued", those in which it issued, and by reason those in which
    no warp was ready. They sum to 1, or with `per_fma` to an SM's cycles for each FMA of a warp.

    Only "issued" is counted. The others are shared out as warps were sampled in such cycles; of a
    step without samples, as all warps wait, which is another thing where most cycles issue.
    """
    issued = metrics[ISSUE_ACTIVE] / 100
    whole = cycles_of_sm(metrics) if per_fma else 1.0
    sampled = any(SAMPLED.format(x) in metrics for x in REASONS)
    name = SAMPLED if sampled else STALLED
    waits = {x: metrics.get(name.format(x), 0) for x in REASONS if "selected" not in x}
    each = whole * (1 - issued) / sum(waits.values())
    return {"issued": whole * issued} | {reason: each * n for reason, n in waits.items()}


def compared(record: Recorded, steps: Sequence[Any], per_fma: bool = False) -> dict[str, Cycles]:
    """`scheduler_cycles` of steps (or of their labels), by label; what is small in all of them is
    "others". Raises ValueError for a step that was not recorded."""
    labels = [getattr(step, "label", step) for step in steps]
    if lacking := [label for label in labels if label not in record]:
        raise ValueError(f"no stalls of {lacking[0]} are recorded; there are {list(record)}")
    found = {label: scheduler_cycles(record[label], per_fma) for label in labels}
    large = {x for each in found.values() for x in each if each[x] >= LEAST * sum(each.values())}
    for cycles in found.values():
        cycles["others"] = sum(cycles.pop(x) for x in [*cycles] if x not in {"issued", *large})
    return found


def in_words(reason: str) -> str:
    """Nsight Compute's name of a reason, with plain words."""
    return f"{reason} ({words})" if (words := REASONS.get(reason)) else reason


def load_gbs(row: Mapping[str, Any], multiprocessors: int) -> float:
    """GB/s of device memory in a row of the record's "loads": each warp reads a line a load."""
    return _instructions(row, multiprocessors) * LINE_BYTES / float(row["ms"] * 1e6)


def multiply_add_tflops(row: Mapping[str, Any], multiprocessors: int) -> float:
    """TFLOPS in a row of the record's "multiply-adds"."""
    return _instructions(row, multiprocessors) * LANES * 2 / float(row["ms"] * 1e9)


def _instructions(row: Mapping[str, Any], multiprocessors: int) -> int:
    """Of all warps together."""
    return int(row["steps"] * row["chains"] * row["warps"] * multiprocessors)
