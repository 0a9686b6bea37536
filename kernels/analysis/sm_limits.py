"""The unit in which the book weighs kernels: cycles of an SM for each multiply-add of a warp."""

from __future__ import annotations

from collections.abc import Mapping

from anywarp.analysis import LANES, SCHEDULERS
from anywarp.trace import Trace
from anywarp.trace.metrics import CYCLES_ACTIVE, EXECUTED, FFMA, PIPE, TAGS

from .hierarchy import SMS

LIMITS = DATA, TAG, ISSUE, FMA = "data stage", "tag stage", "issue slots", "FMAs"


def limits(counted: Mapping[str, float], trace: Trace) -> dict[str, float]:
    """The fewest cycles that each of an SM's limits allows for a multiply-add of a warp.

    The data stage and the tag stage of L1 do a wavefront a cycle, the schedulers issue an
    instruction each, and the FMA pipes take four warps. counted: what Nsight Compute counted, the
    metrics of STATE. trace: of the same kernel, for the tags of its loads, which are not among
    them. Raises ValueError for a trace without FMAs.
    """
    warps = counted[FFMA] / LANES
    return {
        DATA: counted[PIPE] / warps,
        TAG: trace.per_fma(TAGS.format("ld")),
        ISSUE: counted[EXECUTED] / SCHEDULERS / warps,
        FMA: 1 / SCHEDULERS,
    }


def cycles(counted: Mapping[str, float], multiprocessors: int = SMS) -> float:
    """The cycles that an SM, of an H200 or H100 unless said, took for a multiply-add of a warp."""
    return counted[CYCLES_ACTIVE] * multiprocessors / (counted[FFMA] / LANES)
