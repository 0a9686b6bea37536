"""The GPU of this machine, for a notebook to show beside the recorded one; None without one.

    live = kernels.here.benchmark([before, step], [512, 1024, 2048])
    draw.gflops(results, [before, step], live)        # as of every picture that takes `live`
    draw.waves(step, 2048, 2048, kernels.here.occupancy(step))

What this GPU cannot run is left out, and the table says why, in a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anywarp import capability, gpu
from anywarp.analysis import SMS, Occupancy

from ..ladder.step import Step
from ..records import Results
from . import bench, latency


def benchmark(
    steps: Sequence[Step] = (), sizes: Sequence[int | tuple[int, int, int]] = ()
) -> Results | None:
    """Time steps and cuBLAS on the GPU of this machine, and its roofs; None without a GPU.

    Prints what was measured as a table, with what was left out and why. Without steps, the roofs
    alone: FMA peak and copy bandwidth, and in the provenance "shared_gbs", what it reads from
    shared memory. Without cuBLAS there is nothing to compare with: the reason is printed, and None
    returned. Raises CheckError for a wrong result.
    """
    if not gpu.available():
        return None
    try:
        timed = bench.benchmark(steps, sizes)
    except ImportError as error:
        print(f"No timings on the {gpu.device().name}: {error}")
        return None
    more = {"shared_gbs": latency.shared_bandwidth()}
    timed = replace(timed, provenance=timed.provenance | more)
    print("", timed, *bench.unordered(steps), sep="\n")
    return timed


def occupancy(step: Step) -> Occupancy | None:
    """How many blocks of the step an SM of this GPU holds; None without a GPU, or one that can run
    it, or whose limits are not known."""
    if not gpu.available():
        return None
    device = gpu.device()
    here = device.compute_capability
    lacking = capability.lacking(step.compute_capability, step.shared_mem, device)
    if lacking or capability.text(here) not in SMS:
        return None
    there = step.occupancy(here, gpu.arch())
    return replace(there, gpu=device.name, sms=device.multiprocessors)
