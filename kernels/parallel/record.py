"""Measures products over the GPUs of a machine, and what the model needs: `python -m kernels
parallel`.

A record holds a section for each number of GPUs: that of one has local products and products from
the host's memory, those of several have transfers and whole products, each beside the same product
on one of the GPUs. All results are checked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from anywarp import gpu
from anywarp.gpu import queues

from ..ladder.step import Step, steps as ladder
from ..measure import cublas, splits
from ..measure.provenance import provenance
from ..records import PARALLEL, recorded_path, write
from . import inputs, measure_gpus, measure_streaming, nccl, timing

SIZES = (4096, 8192, 16384, 32768)
LOCAL = (512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288)  # of products that the model fits
PANELS = tuple((n, n, k) for n in (1024, 2048, 4096, 8192) for k in (256, 1024, 16384))
USUAL = (17, 21)  # the numbers of steps: without tensor cores, and with them


def usual() -> tuple[Step, ...]:
    """What multiplies unless steps are named."""
    return tuple(step for step in ladder() if step.number in USUAL)


def run_cli(steps: Sequence[Step], sizes: Sequence[int], output: Path | None) -> int:
    """Measure, print and save; returns the exit status. Raises NoGPU, CheckError."""
    gpu.require()
    count = queues.count()
    path = output or recorded_path(gpu.device().name, PARALLEL)
    section: dict[str, Any] = {"provenance": _provenance(count)}
    print(section["provenance"], flush=True)
    for name, measure in sections(steps, sizes, count).items():
        section[name] = measure()
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        write(path, json.dumps(found | {str(count): section}) + "\n")
    print(f"saved in {path}")
    return 0


def _provenance(count: int) -> dict[str, Any]:
    from cupy.cuda import runtime

    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    return provenance(
        gpus=count,
        multiprocessors=gpu.device().multiprocessors,
        cublas=cublas.version(),
        nccl=nccl.load().get_version() if count > 1 else None,
        peer_access=all(runtime.deviceCanAccessPeer(a, b) for a, b in pairs),
        repeats=timing.REPEATS,
    )


def sections(
    steps: Sequence[Step], sizes: Sequence[int], count: int
) -> dict[str, Callable[[], Any]]:
    """What is measured on so many GPUs, by name, in this order."""
    largest = max(sizes)
    kernels = {"kernels": lambda: {step.label: _kernel(step) for step in steps}}
    if count == 1:
        return kernels | {
            "products": lambda: {step.label: shown(_products(step)) for step in steps},
            "bandwidths": lambda: shown(measure_streaming.bandwidths(steps[0])),
            "timelines": lambda: measure_streaming.timelines(steps),
            "streamed": lambda: shown(measure_streaming.streamed(steps)),
        }
    return kernels | {
        "links": lambda: {
            kind: shown(measure_gpus.links(kind, count)) for kind in measure_gpus.LINKS
        },
        "scaling": lambda: shown(measure_gpus.scaling(steps, sizes, count)),
        "parts": lambda: shown(measure_gpus.apart(steps, largest, count)),
        "timelines": lambda: measure_gpus.timelines(steps, largest, count),
    }


def shown(rows: Iterator[Any]) -> list[Any]:
    """The rows, each printed as it comes."""
    found = []
    for row in rows:
        print(row, flush=True)
        found.append(row)
    return found


def _kernel(step: Step) -> dict[str, Any]:
    """What the model has to know of a step: its tile, and how many the GPU holds at a time."""
    found = splits.tile(step, gpu.device().compute_capability, gpu.arch())
    slots = found["resident"] * gpu.device().multiprocessors
    return {"tile": (found["BM"], found["BN"]), "slots": slots}


def _products(step: Step) -> Iterator[list[Any]]:
    """[m, n, k, seconds] of local products, square ones and such as rounds have."""
    for m, n, k in (*((n, n, n) for n in LOCAL), *PANELS):
        A, B = inputs.whole("A", m, k), inputs.whole("B", k, n)
        yield [m, n, k, timing.median([0], step, A, B, gpu.empty((m, n)))]
