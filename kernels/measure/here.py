"""The GPU of this machine, for a notebook to show beside the recorded one; None without one.

    live = kernels.here.benchmark([before, step], [512, 1024, 2048])
    draw.gflops(results, [before, step], live)        # as of every picture that takes `live`
    kernels.here.resident([before, step])             # blocks on an SM, beside those of an H200

What this GPU cannot run is left out, and the table says why, in a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from anywarp import capability, gpu
from anywarp.analysis import SMS, Occupancy

from ..ladder.step import Step
from ..records import RECORDED_ON, Results
from ..records.table import table
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
    held = _held(step, gpu.device())
    return held if isinstance(held, Occupancy) else None


def resident(steps: Sequence[Step]) -> Resident | None:
    """The occupancy of steps on this GPU and, beside it, on an H200; None without a GPU."""
    if not gpu.available():
        return None
    device = gpu.device()
    rows = tuple((step.label, _held(step, device), step.occupancy()) for step in steps)
    return Resident(device.name, capability.text(device.compute_capability), rows)


@dataclass(frozen=True, repr=False)
class Resident:
    """Occupancy of steps on a GPU, or why there is none, and on an H200. Prints as a table."""

    gpu: str
    compute_capability: str
    rows: tuple[tuple[str, Occupancy | str, Occupancy], ...]

    def __repr__(self) -> str:
        head = (
            f"Blocks on an SM of the {self.gpu}, compute capability {self.compute_capability}, "
            f"beside those of the {RECORDED_ON}:"
        )
        cells = []
        for label, here, there in self.rows:
            beside = f"{there.blocks}, {there.warps} of {there.max_warps} warps"
            words = here if isinstance(here, str) else (
                f"{here.blocks}, {here.warps} of {here.max_warps} warps, limited by {here.limit}"
            )  # fmt: skip
            cells.append((label, f"{words}; beside {beside}"))
        return f"{head}\n{table(cells, '<<')}".rstrip()


def _held(step: Step, device: gpu.Device) -> Occupancy | str:
    """How many blocks an SM of the GPU holds, or why it is not known."""
    if lacking := capability.lacking(step.compute_capability, step.shared_mem, device):
        return f"it {lacking}"
    here = device.compute_capability
    if (name := capability.text(here)) not in SMS:
        return f"the limits of compute capability {name} are not known here"
    there = step.occupancy(here, gpu.arch())
    return replace(there, gpu=device.name, sms=device.multiprocessors)
