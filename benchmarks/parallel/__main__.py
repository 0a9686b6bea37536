"""Records products over GPUs, each a rank, and on one products from the host's memory.

    mpiexec -n 4 python -m mpi4py -m benchmarks.parallel [STEP …] [--sizes 4096 …] [--output PATH]

The record has a section for each number of GPUs: that of one has local products and products from
the host's memory, those of several have transfers and whole products, each beside the same product
on one of the GPUs. All results are checked. Prints a JSON value a line, as it is measured.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from anywarp import gpu
from kernels.ladder.step import Step, step as step_of
from kernels.measure import cublas, splits
from kernels.measure.provenance import provenance
from kernels.parallel import gpus, processes
from kernels.records import PARALLEL, recorded_path, write

from . import clock, inputs, many_gpus, streaming

SIZES = (4096, 8192, 16384, 32768)
LOCAL = (512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288)  # of products that the model fits
PANELS = tuple((n, n, k) for n in (1024, 2048, 4096, 8192) for k in (256, 1024, 16384))
USUAL = ("17", "21")  # the steps: without tensor cores, and with them


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and save. Raises NoGPU, CheckError for a wrong product, ImportError without NCCL or
    MPI."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.parallel", description=__doc__)
    parser.add_argument("steps", nargs="*", type=step_of, default=list(map(step_of, USUAL)))
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="of M = N = K")
    parser.add_argument("--output", type=Path, help="default: kernels/records/GPU/parallel.json")
    options = parser.parse_args(argv)
    record(options.steps, options.sizes, options.output)


def record(steps: Sequence[Step], sizes: Sequence[int], output: Path | None) -> None:
    """Measure, print and save what so many ranks can do; other sections stay."""
    comm = processes.world()
    processes.take_gpu()
    path = output or recorded_path(gpu.device().name, PARALLEL)
    earlier = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    section: dict[str, Any] = {"provenance": _provenance(comm)}
    for name, measure in sections(steps, sizes, comm).items():
        section[name] = measure()
        if comm.rank == 0:
            write(path, json.dumps(earlier | {str(comm.size): section}) + "\n")
    if comm.rank == 0:
        print(f"saved in {path}", file=sys.stderr)


def _provenance(comm: Any) -> dict[str, Any]:
    return provenance(
        gpus=comm.size,
        hosts=len(set(comm.allgather(platform.node()))),
        multiprocessors=gpu.device().multiprocessors,
        cublas=cublas.version(),
        nccl=gpus.load().get_version() if comm.size > 1 else None,
        repeats=clock.REPEATS,
    )


def sections(
    steps: Sequence[Step], sizes: Sequence[int], comm: Any
) -> dict[str, Callable[[], Any]]:
    """What is measured on so many GPUs, by name, in this order."""
    largest, shown = max(sizes), _shown if comm.rank == 0 else list
    kernels = {"kernels": lambda: {step.label: _kernel(step) for step in steps}}
    if comm.size == 1:
        return kernels | {
            "products": lambda: {step.label: shown(_products(step)) for step in steps},
            "bandwidths": lambda: shown(streaming.bandwidths(steps[0])),
            "streamed": lambda: shown(streaming.streamed(steps)),
        }
    return kernels | {
        "links": lambda: {kind: shown(many_gpus.links(kind, comm)) for kind in many_gpus.TRANSFERS},
        "scaling": lambda: shown(many_gpus.scaling(steps, sizes, comm)),
        "parts": lambda: shown(many_gpus.apart(steps, largest, comm)),
        "timelines": lambda: many_gpus.timelines(steps, largest, comm),
    }


def _shown(rows: Iterable[Any]) -> list[Any]:
    """The rows, each printed as it comes."""
    result = []
    for row in rows:
        print(json.dumps(row), flush=True)
        result.append(row)
    return result


def _kernel(step: Step) -> dict[str, Any]:
    """What the model has to know of a step: its tile, and how many the GPU holds at a time."""
    tile = splits.tile(step, gpu.device().compute_capability, gpu.arch())
    slots = tile["resident"] * gpu.device().multiprocessors
    return {"tile": (tile["BM"], tile["BN"]), "slots": slots}


def _products(step: Step) -> Iterator[list[Any]]:
    """[m, n, k, seconds] of local products, square ones and such as rounds have."""
    for m, n, k in (*((n, n, n) for n in LOCAL), *PANELS):
        A, B = inputs.whole("A", m, k), inputs.whole("B", k, n)
        yield [m, n, k, clock.median(step, A, B, gpu.empty((m, n)))]


if __name__ == "__main__":
    main()
