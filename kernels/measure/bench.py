"""Timing on a GPU: the protocol and the records that it gives.

Every step and cuBLAS run once in each round, one launch at a time between two CUDA events, in
an order that rotates, so that a drifting clock touches all alike. Before each launch a buffer
larger than the L2 cache is overwritten: every launch starts from the same cold L2, and the GPU
is busy while Python queues the launch, so that the time Python takes is not measured.

Steps on tensor cores have rounds of their own, after the others, with cuBLAS in both. They draw so
much power that the clock falls for all that is timed beside them: at 8192, between steps 20 and 21,
from 1980 MHz to 1545, and cuBLAS took 25.9 ms instead of 21.5.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from anywarp import build, capability, gpu
from anywarp.gpu import nvidia_smi

from ..analysis.reference import CheckError
from ..records import CUBLAS, Record, Results, results
from . import cublas
from .product import Launch, launch_of, loaded_of, matrices, require_product
from .provenance import provenance

__all__ = ["Record", "Results", "benchmark", "results", "run_cli"]

SIZES = (128, 256, 512, 1024, 2048, 4096, 8192)
MIN_REPEATS = 20  # of each step and cuBLAS at a size, and
MIN_SECONDS = 0.3  # of wall-clock time for each of them
HEAD_START = 4  # extra flushes before a round: Python queues its launches meanwhile
MAX_MS = 1000.0  # a step that needs longer for one launch is left out at that size


# ---------------------------------------------------------------------- the protocol


def benchmark(
    steps: Sequence[Any],
    sizes: Sequence[int | tuple[int, int, int]] | None = None,
    progress: bool = True,
    output: Path | str | None = None,
    max_ms: float = MAX_MS,
    merge: bool = False,
    together: bool = True,
) -> Results:
    """Time steps and cuBLAS on the GPU; a size n stands for n x n x n.

    Without `together`, each step has rounds of its own, and cuBLAS others: how fast is each where
    no other takes the power?

    Each result is checked before it is timed. A step of which one launch takes longer than `max_ms`
    is left out at that size. With `output`, what has been measured is saved there after every
    size; with `merge`, what was there of other steps and shapes stays. Raises
    NoGPU, CheckError for a wrong result, ImportError without cuBLAS, records.MergeError, ValueError
    for `merge` without an `output` and TypeError for what is no step.
    """
    if merge and output is None:
        raise ValueError("merge keeps what `output` holds of other steps: name the file")
    for step in steps:
        if isinstance(step, (str, int)):
            raise TypeError(f"{step!r} is no step: pass kernels.step({step!r})")
    gpu.require()
    from tqdm.auto import tqdm

    shapes = [
        (size,) * 3 if isinstance(size, (int, np.integer)) else tuple(size)
        for size in (SIZES if sizes is None else sizes)
    ]
    earlier = Results.load(output) if merge and Path(output).exists() else None
    flush = flusher()
    with tqdm(total=len(shapes) + 1, unit="size", disable=not progress) as bar:
        bar.set_description("measuring the roofs")
        fma_peak_tflops, copy_gbs, empty_launch_us = measure_roofs(flush)
        origin = provenance(
            **circumstances(
                empty_launch_us,
                min_repeats=MIN_REPEATS,
                min_seconds_each=MIN_SECONDS,
                max_ms_per_launch=max_ms,
            )
        )
        found = Results(origin, fma_peak_tflops, copy_gbs)
        if earlier is not None:
            found.merged(earlier)  # raises MergeError now rather than after the work
        for shape in shapes:
            bar.update()
            bar.set_description(" x ".join(map(str, shape)))
            records, left_out = _measure_shape(steps, shape, flush, max_ms, together)
            found = replace(
                found,
                records=found.records + records,
                left_out=tuple(dict.fromkeys(found.left_out + left_out)),
            )
            if output is not None:
                (found if earlier is None else found.merged(earlier)).save(output)
        bar.update()
    return found


def _measure_shape(
    steps: Sequence[Any],
    shape: tuple[int, int, int],
    flush: Launch,
    max_ms: float,
    together: bool,
) -> tuple[tuple[Record, ...], tuple[str, ...]]:
    """The records at one shape, and what was left out there and why."""
    M, N, K = shape
    host_A, host_B, matrix = matrices(M, N, K)
    C = gpu.empty((M, N))
    by_cublas = functools.partial(cublas.sgemm, matrix("A", 0), matrix("B", 0), C)
    launches: dict[str, Launch] = {CUBLAS: by_cublas}
    left_out = []
    for step in steps:
        needs = step.compute_capability, step.shared_mem
        if lacking := capability.lacking(*needs, gpu.device()):
            left_out.append(f"{step.label}: it {lacking}")
        elif constraint := step.broken(M, N, K):
            left_out.append(f"{step.label} at {M} x {N} x {K}: it requires {constraint}")
        else:
            launches[step.label] = launch_of(step, loaded_of(step), matrix, C)

    expected = None
    spoiled = {step.label for step in steps if getattr(step, "spoiled", False)}
    for name, launch in list(launches.items()):
        gpu.fill_bytes(C, 0xFF)  # NaN: an element that is not written is found
        launch()
        result = gpu.to_host(C)
        expected = result if expected is None else expected
        try:
            if name not in spoiled:
                require_product(result, expected, host_A, host_B)
        except CheckError as error:
            raise CheckError(f"{name} at {M} x {N} x {K}: {error}") from None
        ((ms,),) = rounds([launch], flush, 1, 0)
        if ms > max_ms and name != CUBLAS:
            left_out.append(
                f"{name} at {M} x {N} x {K}: one launch takes {ms:.0f} ms, "
                f"the limit is {max_ms:.0f} ms"
            )
            del launches[name]

    if not together:
        alone = [_timed({name: one}, shape, flush)[0] for name, one in launches.items()]
        return tuple(replace(r, cublas_ms=alone[0].ms) for r in alone), tuple(left_out)
    apart = {
        step.label: launches.pop(step.label)
        for step in steps
        if step.tensor_cores and step.label in launches
    }
    records = _timed(launches, shape, flush)
    if apart:
        _, *own = _timed({CUBLAS: by_cublas} | apart, shape, flush)
        records += own
    return tuple(records), tuple(left_out)


def _timed(
    launches: Mapping[str, Launch], shape: tuple[int, int, int], flush: Launch
) -> list[Record]:
    """The records of launches that share rounds, the first of which is cuBLAS's."""
    works = list(launches.values())
    rounds(works, flush, 1, MIN_SECONDS)  # warm up: the GPU was idle and its clock low
    times = rounds(works, flush, MIN_REPEATS, MIN_SECONDS * len(works))
    with ThreadPoolExecutor(max_workers=1) as pool:
        # nvidia-smi disturbs timings while it asks: keep the GPU as busy, but do not count
        sample = pool.submit(nvidia_smi.status)
        rounds(works, flush, 1, 0, more=lambda: not sample.done())
        status = sample.result()
    return [record(name, shape, ms, times[0], status) for name, ms in zip(launches, times)]


def record(
    name: str,
    shape: tuple[int, int, int],
    ms: Sequence[float],
    cublas_ms: Sequence[float],
    status: nvidia_smi.Status,
) -> Record:
    """What is kept of the times of a launch, and of cuBLAS in the same rounds."""
    p10, median, p90 = (float(x) for x in np.percentile(ms, [10, 50, 90]))
    beside = float(np.median(cublas_ms))
    clock = status.sm_clock_mhz, status.throttle
    return Record(name, *shape, median, p10, p90, len(ms), beside, *clock)


def rounds(
    works: Sequence[Launch],
    flush: Launch,
    repeats: int,
    seconds: float,
    more: Callable[[], bool] = lambda: False,
) -> list[list[float]]:
    """Run all works once a round; the milliseconds of each launch, a list per work.

    Rounds go on until there were `repeats`, `seconds` have passed and more() is false.
    """
    times: list[list[float]] = [[] for _ in works]
    order = list(range(len(works)))
    begin = time.perf_counter()
    while len(times[0]) < repeats or time.perf_counter() - begin < seconds or more():
        for _ in range(HEAD_START):
            flush()
        events = {}
        for i in order:
            flush()
            start = gpu.event()
            works[i]()
            events[i] = start, gpu.event()
        gpu.synchronize()
        for i, (start, end) in events.items():
            times[i].append(gpu.elapsed_ms(start, end))
        order.append(order.pop(0))
    return times


def unordered(steps: Sequence[Any]) -> list[str]:
    """Of which steps the compiler's own machine code is timed, though they have another order of
    it, and why: a sentence for each."""
    device, found = gpu.device(), []
    for step in steps:
        if not capability.lacking(step.compute_capability, step.shared_mem, device):
            if reason := step.kernel.why_not_rewritten(gpu.arch()):
                found.append(f"{step.label}: the compiler's own code is timed: {reason}")
    return found


# ---------------------------------------------------------------------- the roofs

_CHAINS, _UNROLL, _TRIPS = 8, 64, 683
_BLOCKS_PER_SM = 24  # full waves where 4, 6 or 8 blocks of 256 threads run at a time
_ROOFS = f"""
// Eight independent chains of FMAs per thread hide the latency of each; 512 of them stand
// between two branches. The sum is written so that nothing is optimised away.
extern "C" __global__ void __launch_bounds__(256)
fma_peak(int trips, float a, float b, float* out)
{{
    float x[{_CHAINS}];
    for (int i = 0; i < {_CHAINS}; ++i)
        x[i] = threadIdx.x + i;
    for (int trip = 0; trip < trips; ++trip)
        #pragma unroll
        for (int repeat = 0; repeat < {_UNROLL}; ++repeat)
            #pragma unroll
            for (int i = 0; i < {_CHAINS}; ++i)
                x[i] = fmaf(x[i], a, b);
    float sum = 0.0f;
    for (int i = 0; i < {_CHAINS}; ++i)
        sum += x[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}}

extern "C" __global__ void nothing() {{}}
"""


def flush_bytes() -> int:
    """Four times the L2, and enough for the write to outlast Python queueing a launch."""
    return max(4 * gpu.device().l2_bytes, 2**28)


def flusher() -> Launch:
    """What leaves the L2 cold: a write over more than it holds. It keeps its memory."""
    return functools.partial(gpu.fill_bytes, gpu.empty(flush_bytes(), np.uint8), 0)


def measure_roofs(flush: Launch) -> tuple[float, float, float]:
    """FMA peak in TFLOPS, copy bandwidth in GB/s, and an empty launch in microseconds."""
    names = ("fma_peak", "nothing")
    built = build.compile(_ROOFS, "roofs.cu", (), names, gpu.arch())
    loaded = {name: gpu.load(built.machine_code, built.lowered[name]) for name in names}
    blocks, threads = _BLOCKS_PER_SM * gpu.device().multiprocessors, 256
    out = gpu.empty(blocks * threads)
    scalars = (np.int32(_TRIPS), np.float32(0.999), np.float32(0.001))
    source, target = gpu.empty(2**28), gpu.empty(2**28)  # 1 GiB each
    works = [
        functools.partial(
            gpu.launch,
            loaded["fma_peak"],
            (blocks,),
            (threads,),
            (*scalars, out),
        ),
        functools.partial(gpu.copy, target, source),
        functools.partial(gpu.launch, loaded["nothing"], (1,), (1,), ()),
    ]
    gpu.fill_bytes(source, 0)
    rounds(works, flush, 1, MIN_SECONDS)
    fma_ms, copy_ms, empty_ms = (
        float(np.median(ms)) for ms in rounds(works, flush, MIN_REPEATS, MIN_SECONDS)
    )
    flops = 2 * _CHAINS * _UNROLL * _TRIPS * blocks * threads
    return flops / (fma_ms * 1e9), 2 * source.nbytes / (copy_ms * 1e6), 1000 * empty_ms


# ---------------------------------------------------------------------- provenance


def circumstances(empty_launch_us: float, **protocol: Any) -> dict[str, Any]:
    """What records of timings say besides where they come from; `protocol` is how they are made,
    beside what holds of all."""
    device = gpu.device()
    return {
        "multiprocessors": device.multiprocessors,
        "max_sm_clock_mhz": device.clock_mhz,
        "l2_bytes": device.l2_bytes,
        "memory_bytes": device.memory_bytes,
        "cuda_runtime": device.cuda_runtime,
        "cublas": cublas.version(),
        "cupy": device.cupy,
        "numpy": np.__version__,
        "empty_launch_us": empty_launch_us,
        "protocol": {
            "what": "C = A B in float32; A and B uniform in [-1, 1)",
            "timing": "CUDA events around single launches; each step and cuBLAS (FP32, no TF32) "
            "once a round, in rotating order; median, 10th and 90th percentile",
            "warm_up_seconds": MIN_SECONDS,
            **protocol,
            "flush_bytes_before_each_launch": flush_bytes(),
        },
    }


# ---------------------------------------------------------------------- command line


def run_cli(
    steps: Sequence[Any],
    sizes: Sequence[int | tuple[int, int, int]],
    output: Path | None,
    merge: bool,
    as_json: bool,
) -> int:
    """`python -m kernels bench`: print the results; returns the exit status.

    Raises what `benchmark` raises, except CheckError, which is printed and gives 1.
    """
    try:
        found = benchmark(steps, sizes, output=output, merge=merge)
    except CheckError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(found.to_json() if as_json else found)
    for line in unordered(steps):
        print(line, file=sys.stderr)
    return 0
