"""Searching tiles on a GPU: `python -m kernels tune`.

All candidates are compiled first, side by side; what the step refuses, what spills more than a few
registers and what wants more shared memory than the GPU has is left out. At each shape the rest is
timed by successive halving: everything once, then the faster ones again, more often the fewer they
are (K. Jamieson, A. Talwalkar, "Non-stochastic best arm identification and hyperparameter
optimization", AISTATS 2016), with cuBLAS in each round.

What was measured is `Results`, as of any timing, with a record for each candidate and shape, where
`kernels.tuned` reads it: `GPU/tune.json` in the user's folder of records.
"""

from __future__ import annotations

import multiprocessing
import os
import re
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np

from anywarp import CompileError, capability, gpu
from anywarp.build import Resources
from anywarp.progress import progress

from ..ladder.model import named
from ..ladder.step import Step
from ..records import CUBLAS, TUNE, Results, own_path
from .bench import Protocol, Shape, Timer, measure

SIZES = (512, 1024, 2048, 4095, 4096)
FEW = 32  # bytes of registers that a thread may spill
KEPT = 4  # one in so many is timed again,
AGAIN = 2  # so many times as often,
FINALISTS, REPEATS = 4, 20  # until so few are left, each timed so often
ROUNDS = (
    f"successive halving: everything once, then one in {KEPT} {AGAIN} times as often, and so on; "
    f"the last {FINALISTS} {REPEATS} times"
)


# ---------------------------------------------------------------------- compiling


def prepared(
    candidates: Sequence[Step], jobs: int | None = None
) -> tuple[list[Step], tuple[str, ...]]:
    """The candidates that this GPU can run, compiled and kept in the user's cache of compilations,
    and why the others cannot. `jobs` processes work side by side, as many as there are cores
    unless given. Raises NoGPU, before anything is compiled, if the GPU can run none of them, and
    afterwards if none is left."""
    device, arch = gpu.device(), gpu.arch()
    reasons = {
        step.label: capability.lacking(step.compute_capability, step.shared_mem, device)
        for step in candidates
    }
    able = [label for label, reason in reasons.items() if reason is None]
    if able:
        context = multiprocessing.get_context("spawn")  # a fork would share CuPy's state
        where = device.compute_capability, arch, device.shared_bytes_per_block
        with (
            ProcessPoolExecutor(jobs or cores(), context) as pool,
            progress("compiling", "kernel") as tell,
        ):
            started = {pool.submit(unfit, label, *where): label for label in able}
            for number, done in enumerate(as_completed(started), start=1):
                reasons[started[done]] = done.result()
                if tell is not None:
                    tell(number, len(started))
    left_out = tuple(f"{label}: it {reason}" for label, reason in reasons.items() if reason)
    if not set(reasons.values()) & {None}:
        raise gpu.NoGPU(f"the {device.name} can run no candidate: {'; '.join(left_out[:3])}")
    return [step for step in candidates if reasons[step.label] is None], left_out


def cores() -> int:
    """How many this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def unfit(label: str, compute_capability: tuple[int, int], arch: str, shared: int) -> str | None:
    """Compile a candidate; why it is not worth a launch on a GPU that allows a block so many bytes
    of shared memory, as the end of a sentence, None if it is."""
    step = named(label, compute_capability)
    try:
        used = [kernel.resources(arch) for kernel in step.kernels.values()]
    except CompileError as error:
        message = re.search(r"error\b.*?: (?:static assertion failed with )?(.*)", str(error))
        return f"does not compile: {message[1].strip(chr(34)) if message else error}"
    return too_much(used, step.shared_mem, shared)


def too_much(used: Sequence[Resources], dynamic: int, shared: int) -> str | None:
    """What kernels take that they should not, given bytes of dynamic shared memory and those that
    a block can have."""
    if (spilled := sum(kernel.spill_stores for kernel in used)) > FEW:
        return f"spills {spilled} bytes of registers"
    wanted = dynamic + max(kernel.shared for kernel in used)
    if wanted > shared:
        return f"wants {wanted} bytes of shared memory, the GPU allows {shared}"
    return None


# ---------------------------------------------------------------------- successive halving


def plan(candidates: int) -> list[tuple[int, int]]:
    """How many candidates are timed in each round, and how often."""
    counts, repeats = [], 1
    while candidates > FINALISTS:
        counts.append((candidates, repeats))
        candidates, repeats = max(FINALISTS, candidates // KEPT), AGAIN * repeats
    return [*counts, (candidates, REPEATS)]


def halving(labels: Sequence[str], timer: Timer) -> dict[str, list[float]]:
    """All times of each candidate, the finalists' first and of these the fastest one's."""
    samples: dict[str, list[float]] = {label: [] for label in labels}

    def fastest_first() -> list[str]:
        return sorted(left, key=lambda label: float(np.median(samples[label] or [0])))

    left = list(labels)
    for count, repeats in plan(len(labels)):
        left = fastest_first()[:count]
        for label, times in zip(left, timer(left, repeats, 0)):
            samples[label] += times
    left = fastest_first()
    return {label: samples[label] for label in dict.fromkeys([*left, *labels])}


# ---------------------------------------------------------------------- the search


HALVING = Protocol(halving, {"rounds": ROUNDS}, group=lambda step: step.id)


def tune(
    candidates: Sequence[Step],
    shapes: Sequence[Shape] = (),
    output: Path | None = None,
    jobs: int | None = None,
) -> Results:
    """Compile the candidates and search them on the GPU, at SIZES unless shapes are given; save
    what was measured after each shape, by default where `kernels.tuned` reads it. What was there
    of other steps and shapes stays. Raises what `prepared` and `bench.measure` raise."""
    gpu.require()
    shapes = shapes or [(size,) * 3 for size in SIZES]
    output = output or own_path(gpu.device().name, TUNE)
    able, left_out = prepared(candidates, jobs)
    in_order = sorted(shapes, key=np.prod)
    return measure(able, in_order, HALVING, output, merge=True, left_out=left_out)


def summary(searched: Results) -> str:
    """The best at each shape, beside cuBLAS, and how many candidates were tried."""
    names = {r.step for r in searched.records} - {CUBLAS}
    lines = [
        f"{searched.gpu}: {len(names)} candidates timed, "
        f"{len({text.partition(': ')[0] for text in searched.left_out})} left out"
    ]
    for shape in dict.fromkeys((r.M, r.N, r.K) for r in searched.records):
        best = searched.best(shape)
        share = searched.share_of_cublas(best)
        lines.append(
            f"{' x '.join(map(str, shape)):>20}{best.tflops:>10.3g} TFLOPS"
            + (f"{share:>8.1%} of cuBLAS" if share is not None else "")
            + f"  {best.step}"
        )
    return "\n".join(lines)
