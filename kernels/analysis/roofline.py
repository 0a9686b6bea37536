"""Where a kernel stands under the roofline, from counts alone.

S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for
multicore architectures", CACM 52(4), 2009: nothing runs faster than the arithmetic peak, nor
faster than the memory brings its bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anywarp.analysis import SECTOR_BYTES

from ..records import roofs
from .splitting import KINDS, pairs

FLOAT_BYTES = 4


@dataclass(frozen=True)
class Placement:
    """`attainable_tflops` is the most that `flop` operations on `bytes` of memory traffic can
    reach; `limit` is the roof that says so, "arithmetic" or "bandwidth"."""

    flop: int
    bytes: int
    attainable_tflops: float
    limit: str


def placement(flop: int, bytes: int, peak_tflops: float, bandwidth_gbs: float) -> Placement:
    """Place a kernel that does `flop` operations and moves `bytes`.

    peak_tflops: 10^12 operations a second; bandwidth_gbs: 10^9 bytes a second, such as
    `fma_peak_tflops` and `copy_gbs` of recorded results. On the ridge, arithmetic is the limit.
    Raises ValueError unless bytes and both roofs are positive and flop is not negative.
    """
    if not (flop >= 0 and all(x > 0 for x in (bytes, peak_tflops, bandwidth_gbs))):
        raise ValueError(
            "bytes, peak_tflops and bandwidth_gbs must be positive and flop not "
            f"negative: {flop = }, {bytes = }, {peak_tflops = }, {bandwidth_gbs = }"
        )
    by_bandwidth = flop / bytes * bandwidth_gbs / 1000
    if by_bandwidth < peak_tflops:
        return Placement(flop, bytes, by_bandwidth, "bandwidth")
    return Placement(flop, bytes, peak_tflops, "arithmetic")


def arithmetic_peak(step: Any, results: Any, mhz: float | None = None) -> float:
    """TFLOPS of float32 that the step's arithmetic can reach on the GPU of the results: the
    measured FMA peak, or, at the highest clock if no other is given, what `records.roofs` has of
    the instruction that it multiplies by on tensor cores, wgmma or mma.sync. These are of compute
    capability 9.0.

    A step on tensor cores multiplies each pair of its parts that counts. What they are is said by
    its macros KIND, PARTS and ALL, see `splitting`, or by its one wgmma.
    """
    if not step.tensor_cores:
        return float(results.fma_peak_tflops)
    instruction = "wgmma" if "wgmma.mma_async" in step.source else "mma.sync"
    halves = instruction == "wgmma" and ".f32.f16.f16" in step.source
    kind = "FP16" if halves else list(KINDS)[step.defines.get("KIND", 0)]
    rate = roofs()["roofs"][f"{instruction} {kind}"]
    parts = step.defines.get("PARTS", KINDS[kind].parts)
    products = len(pairs(parts, bool(step.defines.get("ALL", 0))))
    mhz = mhz or results.provenance["max_sm_clock_mhz"]
    return float(2 * rate / products * results.provenance["multiprocessors"] * mhz / 1e6)


def sgemm_flop(M: int, N: int, K: int) -> int:
    """2 M N K: a multiplication and an addition for each term of each dot product.

    The few that alpha and beta take are left out, as everywhere in the literature.
    """
    return 2 * M * N * K


def compulsory_bytes(M: int, N: int, K: int, beta: float = 0) -> int:
    """What every SGEMM has to move: A and B read once, C written once, and read if beta != 0."""
    return FLOAT_BYTES * (M * K + K * N + (1 if beta == 0 else 2) * M * N)


def traced_bytes(costs: Mapping[Any, Any]) -> int:
    """32 bytes for each sector of global memory that the warps' accesses asked for.

    costs: `Trace.costs`, of which those of shared memory do not count. These bytes come from L1,
    L2 or device memory, so this is the traffic of device memory only if no cache ever hits;
    `compulsory_bytes` is it if every reuse hits.
    """
    return SECTOR_BYTES * sum(getattr(cost, "sectors", 0) for cost in costs.values())
