"""Searching tiles on a GPU: `python -m kernels tune`.

All candidates are compiled first, side by side; what the step refuses, what spills registers and
what wants more shared memory than the GPU has is left out. At each shape the rest is timed by
successive halving: everything once, then the faster ones again, more often the fewer they are
(K. Jamieson, A. Talwalkar, "Non-stochastic best arm identification and hyperparameter
optimization", AISTATS 2016). Launches are timed as by `bench`, with cuBLAS in each round. The
winner is checked at each shape.

What was found is `Results`, as of any timing, with a record for each candidate and shape, where
`kernels.tuned` reads it: `results/GPU/tune.json`.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anywarp import build, capability, gpu
from anywarp.progress import progress

from ..analysis.reference import CheckError
from ..records import CUBLAS, TUNE, Record, Results, recorded_path
from . import bench, cublas
from .product import Launch, Loaded, launch_of, matrices, require_product
from .provenance import provenance

Shape = tuple[int, int, int]
Timer = Callable[[Sequence[str], int], Sequence[Sequence[float]]]

SIZES = (512, 1024, 2048, 4095, 4096)
KEPT = 4  # one in so many is timed again,
AGAIN = 2  # so many times as often,
FINALISTS, REPEATS = 4, 20  # until so few are left, each timed so often
ROUNDS = (
    f"successive halving: everything once, then one in {KEPT} {AGAIN} times as often, and so on; "
    f"the last {FINALISTS} {REPEATS} times"
)
WORKSPACE = 2**28  # bytes: more than that is not lent to a candidate


# ---------------------------------------------------------------------- compiling


class Compiled(NamedTuple):
    """A candidate's machine code."""

    cubin: bytes
    symbols: Mapping[str, str]  # of its kernels
    resources: Sequence[build.Resources]


def compiled(
    candidates: Sequence[Any], arch: str, jobs: int | None = None
) -> dict[str, Compiled | str]:
    """Each candidate by its label, compiled, or the reason why it cannot be. `jobs` processes
    work side by side, as many as there are cores unless given."""
    found: dict[str, Compiled | str] = {}
    context = multiprocessing.get_context("spawn")  # a fork would share CuPy's state
    with (
        ProcessPoolExecutor(jobs or cores(), context) as pool,
        progress("compiling", "kernel") as tell,
    ):
        started = {pool.submit(_compile, _recipe(one, arch)): one.label for one in candidates}
        for done in as_completed(started):
            found[started[done]] = done.result()
            if tell is not None:
                tell(len(found), len(started))
    return {one.label: found[one.label] for one in candidates}


def cores() -> int:
    """How many this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _recipe(step: Any, arch: str) -> tuple:
    """What `build.compile` takes."""
    names = tuple(one.kernel for one in step.file.launches)
    needs = step.compute_capability
    return str(step.source), step.path.name, tuple(step.options), names, arch, needs


def _compile(recipe: tuple) -> Compiled | str:
    try:
        built = build.compile(*recipe)
    except build.CompileError as error:
        message = re.search(r"error\b.*?: (?:static assertion failed with )?(.*)", str(error))
        return message[1].strip('"') if message else str(error)
    resources = [build.resources(built, symbol) for symbol in built.lowered.values()]
    return Compiled(built.machine_code, built.lowered, resources)


def unfit(one: Compiled, shared_mem: int, shared_bytes: int) -> str | None:
    """Why a candidate is not worth a launch on a GPU that allows a block so many bytes of shared
    memory, None if it is."""
    if spilled := sum(x.spill_stores for x in one.resources):
        return f"spills {spilled} bytes of registers"
    shared = shared_mem + max(x.shared for x in one.resources)
    if shared > shared_bytes:
        return f"wants {shared} bytes of shared memory, the GPU allows {shared_bytes}"
    return None


# ---------------------------------------------------------------------- successive halving


def plan(candidates: int) -> list[tuple[int, int]]:
    """How many candidates are timed in each round, and how often."""
    found, repeats = [], 1
    while candidates > FINALISTS:
        found.append((candidates, repeats))
        candidates, repeats = max(FINALISTS, candidates // KEPT), AGAIN * repeats
    return [*found, (candidates, REPEATS)]


def halving(labels: Sequence[str], timer: Timer) -> dict[str, list[float]]:
    """All times of each candidate, the finalists' first and of these the fastest one's."""
    samples: dict[str, list[float]] = {label: [] for label in labels}

    def fastest_first() -> list[str]:
        return sorted(left, key=lambda label: float(np.median(samples[label] or [0])))

    left = list(labels)
    for count, repeats in plan(len(labels)):
        left = fastest_first()[:count]
        for label, times in zip(left, timer(left, repeats)):
            samples[label] += times
    left = fastest_first()
    return {label: samples[label] for label in dict.fromkeys([*left, *labels])}


# ---------------------------------------------------------------------- the search


def tune(
    candidates: Sequence[Any],
    shapes: Sequence[Shape] | None = None,
    output: Path | None = None,
    merge: bool = False,
    jobs: int | None = None,
) -> Results:
    """Compile the candidates, which are steps, and search them on the GPU; save what was found
    after each shape, by default where `kernels.tuned` reads it. With `merge`, what was there of
    other steps and shapes stays. Raises NoGPU, also if no candidate can be run here, CheckError if
    a winner is wrong, ImportError without cuBLAS and records.MergeError.
    """
    gpu.require()
    return search(candidates, compiled(candidates, gpu.arch(), jobs), shapes, output, merge)


def search(
    candidates: Sequence[Any],
    built: Mapping[str, Compiled | str],
    shapes: Sequence[Shape] | None = None,
    output: Path | None = None,
    merge: bool = False,
) -> Results:
    """`tune` of what is compiled already."""
    gpu.require()
    shapes = shapes or [(size,) * 3 for size in SIZES]
    output = output or recorded_path(gpu.device().name, TUNE)
    flush = bench.flusher()
    fma_peak_tflops, copy_gbs, empty_launch_us = bench.measure_roofs(flush)
    origin = provenance(**bench.circumstances(empty_launch_us, rounds=ROUNDS))
    found = Results(origin, fma_peak_tflops, copy_gbs)
    earlier = Results.load(output) if merge and output.exists() else None
    if earlier is not None:
        found.merged(earlier)  # raises MergeError now rather than after the work
    steps, loaded, left_out = _loaded(candidates, built)
    found = replace(found, left_out=left_out)
    if not steps:
        raise gpu.NoGPU("no candidate can be run here: " + "; ".join(left_out[:3]))
    launches = sum(count * repeats for count, repeats in plan(len(steps)))
    with progress("timing", "launch") as tell:
        for number, shape in enumerate(sorted(shapes, key=np.prod)):
            told = functools.partial(tell, total=launches * len(shapes)) if tell else None
            records, failed = _search_shape(steps, loaded, shape, flush, told, launches * number)
            found = replace(
                found, records=found.records + records, left_out=found.left_out + failed
            )
            (found if earlier is None else found.merged(earlier)).save(output)
    return found


def _loaded(
    candidates: Sequence[Any], built: Mapping[str, Compiled | str]
) -> tuple[list[Any], dict[str, Loaded], tuple[str, ...]]:
    """The candidates that can be run here, their kernels on the GPU, and why others cannot."""
    steps, loaded, left_out = [], {}, []
    device = gpu.device()
    for step in candidates:
        one = built[step.label]
        reason: str | None
        if lacking := capability.lacking(step.compute_capability, 0, device):
            reason = lacking
        elif isinstance(one, str):
            reason = one
        else:
            reason = unfit(one, step.shared_mem, device.shared_bytes_per_block)
        if reason or isinstance(one, str):
            left_out.append(f"{step.label}: {reason}")
            continue
        steps.append(step)
        loaded[step.label] = {
            name: gpu.load(one.cubin, symbol) for name, symbol in one.symbols.items()
        }
    return steps, loaded, tuple(left_out)


def _search_shape(
    steps: Sequence[Any],
    loaded: Mapping[str, Loaded],
    shape: Shape,
    flush: Launch,
    tell: Callable[..., None] | None,
    told: int,
) -> tuple[tuple[Record, ...], tuple[str, ...]]:
    """The records at one shape, the fastest first, and what was left out there and why."""
    A, B, matrix = matrices(*shape)
    C = gpu.empty(shape[:2])
    by_cublas = functools.partial(cublas.sgemm, matrix("A", 0), matrix("B", 0), C)
    bench.rounds([by_cublas], flush, 1, bench.MIN_SECONDS)  # the GPU was idle and its clock low
    expected = gpu.to_host(C)
    launches: dict[str, Launch] = {}
    left_out = []
    for step in steps:
        reason = step.broken(*shape) and f"it requires {step.broken(*shape)}"
        if step.workspace(*shape) > WORKSPACE:
            reason = f"its workspace has {step.workspace(*shape)} bytes"
        if reason:
            left_out.append(f"{step.label} at {' x '.join(map(str, shape))}: {reason}")
        else:
            launches[step.label] = launch_of(step, loaded[step.label], matrix, C)
    of_cublas: list[float] = []
    done = told

    def timer(labels: Sequence[str], repeats: int) -> Sequence[Sequence[float]]:
        nonlocal done
        works = [by_cublas, *(launches[label] for label in labels)]
        own, *times = bench.rounds(works, flush, repeats, 0)
        of_cublas.extend(own)
        done += len(labels) * repeats
        if tell is not None:
            tell(done)
        return times

    samples = halving(list(launches), timer)
    for winner in list(samples)[:1]:
        gpu.fill_bytes(C, 0xFF)  # NaN: an element that is not written is found
        launches[winner]()
        try:
            require_product(gpu.to_host(C), expected, A, B)
        except CheckError as error:
            raise CheckError(f"{winner} at {' x '.join(map(str, shape))}: {error}") from None
    every = {CUBLAS: of_cublas} | samples
    beside = round(float(np.median(of_cublas)), 6)
    records = (_record(name, shape, ms, beside) for name, ms in every.items() if ms)
    return tuple(records), tuple(left_out)


def _record(name: str, shape: Shape, ms: Sequence[float], cublas_ms: float) -> Record:
    p10, median, p90 = (round(float(x), 6) for x in np.percentile(ms, [10, 50, 90]))
    return Record(name, *shape, median, p10, p90, len(ms), cublas_ms)


# ---------------------------------------------------------------------- command line


def run_cli(
    candidates: Sequence[Any],
    shapes: Sequence[Shape] | None,
    output: Path | None,
    merge: bool,
    jobs: int | None,
    as_json: bool,
) -> int:
    """`python -m kernels tune`: print what was found; returns the exit status.

    Raises what `tune` raises, except CheckError, which is printed and gives 1.
    """
    try:
        found = tune(candidates, shapes, output, merge, jobs)
    except CheckError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(found.to_json() if as_json else summary(found))
    return 0


def summary(found: Results) -> str:
    """The best at each shape, beside cuBLAS, and how many candidates were tried."""
    names = {r.step for r in found.records} - {CUBLAS}
    lines = [
        f"{found.gpu}: {len(names)} candidates timed, "
        f"{len({text.partition(': ')[0] for text in found.left_out})} left out"
    ]
    for shape in dict.fromkeys((r.M, r.N, r.K) for r in found.records):
        best = found.best(shape)
        share = found.share_of_cublas(best)
        lines.append(
            f"{' x '.join(map(str, shape)):>20}{best.tflops:>10.3g} TFLOPS"
            + (f"{share:>8.1%} of cuBLAS" if share is not None else "")
            + f"  {best.step}"
        )
    return "\n".join(lines)
