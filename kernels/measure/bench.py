"""Timing on a GPU: the protocol and the records that it gives.

Every step and cuBLAS run once in each round, one launch at a time between two CUDA events, in
an order that rotates, so that a drifting clock touches all alike. Before each launch a buffer
larger than the L2 cache is overwritten: every launch starts from the same cold L2, and the GPU
is busy while Python queues the launch, so that the time Python takes is not measured.

Steps on tensor cores have rounds of their own, after the others, with cuBLAS in both. They draw so
much power that the clock falls for all that is timed beside them: at 8192, between steps 20 and 21,
from 1980 MHz to 1545, and cuBLAS took 25.9 ms instead of 21.5.

`benchmark`, `tune` and the timings of the model differ in how often they time what: a `Protocol`.
What has been measured is saved after every shape; a run that was interrupted goes on from there.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anywarp import build, capability, gpu
from anywarp.gpu import nvidia_smi
from anywarp.progress import progress

from ..analysis.reference import CheckError
from ..ladder.step import Step
from ..records import CUBLAS, MergeError, Record, Results, fastest, sides
from . import cublas
from .product import Launch, launch_of, loaded_of, matrices, require_product
from .provenance import provenance

Shape = tuple[int, int, int]
# from labels, repeats and seconds for each of them, the milliseconds of each label
Timer = Callable[[Sequence[str], int, float], Sequence[Sequence[float]]]

SIZES = (128, 256, 512, 1024, 2048, 4096, 8192)
MIN_REPEATS = 20  # of each step and cuBLAS at a size, and
MIN_SECONDS = 0.3  # of wall-clock time for each of them
HEAD_START = 4  # extra flushes before a round: Python queues its launches meanwhile
MAX_MS = 1000.0  # a step that needs longer for one launch is left out at that size
WORKSPACE = 8  # a step that wants more than one part in so many of the GPU's memory is left out
UNFINISHED = "unfinished"  # in a file's provenance: names of what a run had measured when it saved


# ---------------------------------------------------------------------- the protocol


class Protocol(NamedTuple):
    """How steps are timed at a shape. `sample` times labels by a timer, and returns all that counts
    of each; `words` say so in the records."""

    sample: Callable[[Sequence[str], Timer], Mapping[str, Sequence[float]]]
    words: Mapping[str, Any]
    group: Callable[[Step], Any] = lambda step: step.tensor_cores  # those of a value share rounds
    beside: bool = True  # cuBLAS is in all rounds, else it has rounds of its own
    thorough: bool = False  # check each step at each shape, not once and where it is the fastest


def often(labels: Sequence[str], timer: Timer) -> dict[str, Sequence[float]]:
    """All of them, for as many rounds as a benchmark asks for."""
    return dict(zip(labels, timer(labels, MIN_REPEATS, MIN_SECONDS)))


def benchmark(
    steps: Sequence[Step],
    sizes: Sequence[int | Shape] | None = None,
    output: Path | str | None = None,
    merge: bool = False,
    together: bool = True,
) -> Results:
    """Time steps and cuBLAS on the GPU; a size n stands for n x n x n.

    Without `together`, each step has rounds of its own, and cuBLAS others: how fast is each where
    no other takes the power? Otherwise as `measure`, whose errors it raises.
    """
    words = {"min_repeats": MIN_REPEATS, "min_seconds_each": MIN_SECONDS}
    words["max_ms_per_launch"] = MAX_MS
    protocol = Protocol(often, words, thorough=True)
    if not together:
        protocol = protocol._replace(group=lambda step: step.label, beside=False)
    shapes = [sides(size) for size in (SIZES if sizes is None else sizes)]
    return measure(steps, shapes, protocol, output, merge)


def measure(
    steps: Sequence[Step],
    shapes: Sequence[Shape],
    protocol: Protocol,
    output: Path | str | None = None,
    merge: bool = False,
    left_out: Sequence[str] = (),
) -> Results:
    """Time steps and cuBLAS on the GPU at each shape by a protocol.

    A step of which one launch takes longer than MAX_MS is left out at that shape; `left_out` says
    what was so before. With `output`, what has been measured is saved there after every shape, and
    a run that was interrupted is taken up again; with `merge`, what was there of other steps and
    shapes stays. Raises NoGPU, CheckError for a wrong result, ImportError without cuBLAS,
    records.MergeError, ValueError for `merge` without an `output` and TypeError for what is no
    step.
    """
    if merge and output is None:
        raise ValueError("merge keeps what `output` holds of other steps: name the file")
    for step in steps:
        if isinstance(step, (str, int)):
            raise TypeError(f"{step!r} is no step: pass kernels.step({step!r})")
    gpu.require()
    flush, checked = flusher(), set[str]()
    with progress("timing", "shape") as tell:
        fma_peak_tflops, copy_gbs, empty_launch_us = measure_roofs(flush)
        origin = provenance(**circumstances(empty_launch_us, **protocol.words))
        measured = Results(origin, fma_peak_tflops, copy_gbs, left_out=tuple(left_out))
        asked = {name_of(label, shape) for label in (CUBLAS, *(s.label for s in steps))
                 for shape in shapes}  # fmt: skip
        kept, measured = _taken_up(measured, asked, output, merge)
        for number, shape in enumerate(shapes, start=1):
            done = _names(measured)
            missing = [step for step in steps if name_of(step.label, shape) not in done]
            if missing or name_of(CUBLAS, shape) not in done:
                records, reasons = _at_shape(missing, shape, protocol, flush, checked)
                records = tuple(r for r in records if r.name not in done)
                lost = dict.fromkeys((*measured.left_out, *reasons))
                all_records = measured.records + records
                measured = replace(measured, records=all_records, left_out=tuple(lost))
            if output is not None:
                whole = measured if kept is None else measured.merged(kept)
                if number < len(shapes):
                    mark = {UNFINISHED: sorted(_names(measured))}
                    whole = replace(whole, provenance=whole.provenance | mark)
                whole.save(output)
            if tell is not None:
                tell(number, len(shapes))
    return measured


def name_of(label: str, shape: Shape) -> str:
    """ "02_naive at 128 x 128 x 128", as `Record.name`."""
    return f"{label} at {' x '.join(map(str, shape))}"


def _names(measured: Results) -> set[str]:
    """What was measured, and what was left out, by name."""
    return {r.name for r in measured.records} | {
        text.partition(": ")[0] for text in measured.left_out
    }


def _taken_up(
    begun: Results, asked: set[str], output: Path | str | None, merge: bool
) -> tuple[Results | None, Results]:
    """What stays of the file that was there, None for nothing, and the run that begins with what it
    had of it when it was interrupted. Raises MergeError, before any work, if what would be lost
    cannot stay."""
    if output is None or not Path(output).exists():
        return None, begun
    earlier = Results.load(output)
    of_run = asked & set(earlier.provenance.get(UNFINISHED, ()))
    if not merge:
        keep = [r for r in earlier.records if r.name in earlier.provenance.get(UNFINISHED, ())]
        earlier = replace(earlier, records=tuple(keep))
    try:
        begun.merged(earlier)
    except MergeError:
        if merge and not {r.name for r in earlier.records} <= asked:
            raise
        return None, begun  # nothing is lost: all of it is measured again
    again = [text for text in earlier.left_out if text.partition(": ")[0] in of_run]
    records = tuple(r for r in earlier.records if r.name in of_run)
    return earlier, replace(begun, records=records, left_out=(*begun.left_out, *again))


def _at_shape(
    steps: Sequence[Step], shape: Shape, protocol: Protocol, flush: Launch, checked: set[str]
) -> tuple[tuple[Record, ...], list[str]]:
    """The records at one shape, and what was left out there and why. `checked` has the labels of
    which a result was right, and gets others."""
    A, B, matrix = matrices(*shape)
    C = gpu.empty(shape[:2])
    by_cublas = functools.partial(cublas.sgemm, matrix("A", 0), matrix("B", 0), C)
    expected = _result(by_cublas, C)
    spoiled = {step.label for step in steps if getattr(step, "spoiled", False)}

    def require_right(label: str, result: np.ndarray) -> None:
        try:
            if label not in spoiled:
                require_product(result, expected, A, B)
        except CheckError as error:
            raise CheckError(f"{name_of(label, shape)}: {error}") from None
        checked.add(label)

    require_right(CUBLAS, expected)
    groups: dict[Any, dict[str, Launch]] = {}
    left_out, tensor_cores = [], set()
    for step in sorted(steps, key=lambda step: protocol.beside and step.tensor_cores):
        name = name_of(step.label, shape)
        if reason := capability.lacking(step.compute_capability, step.shared_mem, gpu.device()):
            left_out.append(f"{step.label}: it {reason}")
            continue
        if constraint := step.broken(*shape):
            left_out.append(f"{name}: it requires {constraint}")
            continue
        if (wanted := step.workspace(*shape)) > gpu.device().memory_bytes // WORKSPACE:
            left_out.append(f"{name}: its workspace has {wanted} bytes")
            continue
        launch = launch_of(step, loaded_of(step), matrix, C)
        if protocol.thorough or step.label not in checked:
            require_right(step.label, _result(launch, C))
        ((ms,),) = rounds([launch], flush, 1, 0)
        if ms > MAX_MS:
            left_out.append(f"{name}: one launch takes {ms:.0f} ms, the limit is {MAX_MS:.0f} ms")
            continue
        groups.setdefault(protocol.group(step), {})[step.label] = launch
        tensor_cores.add(step.tensor_cores)

    batches = [*groups.values()]
    if not protocol.beside or False not in tensor_cores:
        batches.insert(0, {})  # cuBLAS by itself
    records: list[Record] = []
    for launches in batches:
        beside = {CUBLAS: by_cublas} if protocol.beside or not records else {}
        timed = _timed(beside | launches, shape, protocol, flush)
        if launches and not protocol.thorough:
            best = fastest(r for r in timed if r.step != CUBLAS).step
            require_right(best, _result(launches[best], C))
        records += [r for r in timed if not records or r.step != CUBLAS]
    if not protocol.beside:
        records = [replace(r, cublas_ms=records[0].ms) for r in records]
    return tuple(records), left_out


def _result(launch: Launch, C: Any) -> np.ndarray:
    """What a launch leaves in C (M, N), a copy."""
    gpu.fill_bytes(C, 0xFF)  # NaN: an element that is not written is found
    launch()
    return gpu.to_host(C)


def _timed(
    launches: Mapping[str, Launch], shape: Shape, protocol: Protocol, flush: Launch
) -> list[Record]:
    """The records of launches that share rounds; cuBLAS, if it is one of them, is in all."""
    beside = [name for name in launches if name == CUBLAS]
    times_beside: list[float] = []
    works = list(launches.values())
    rounds(works, flush, 1, MIN_SECONDS)  # warm up: the GPU was idle and its clock low

    def timer(labels: Sequence[str], repeats: int, seconds: float) -> list[list[float]]:
        chosen = [launches[label] for label in (*beside, *labels)]
        times = rounds(chosen, flush, repeats, seconds * len(chosen))
        times_beside.extend(times[0] if beside else ())
        return times[len(beside) :]

    samples = protocol.sample([name for name in launches if name != CUBLAS], timer)
    status = nvidia_smi.Status()
    if protocol.thorough:
        with ThreadPoolExecutor(max_workers=1) as pool:
            # nvidia-smi disturbs timings while it asks: keep the GPU as busy, but do not count
            asked = pool.submit(nvidia_smi.status)
            rounds(works, flush, 1, 0, more=lambda: not asked.done())
            status = asked.result()
    every = dict.fromkeys(beside, times_beside) | dict(samples)
    return [record(name, shape, ms, times_beside or ms, status) for name, ms in every.items()]


def record(
    name: str,
    shape: Shape,
    ms: Sequence[float],
    cublas_ms: Sequence[float],
    status: nvidia_smi.Status,
) -> Record:
    """What is kept of the times of a launch, and of cuBLAS in the same rounds, to a nanosecond."""
    p10, median, p90 = (round(float(x), 6) for x in np.percentile(ms, [10, 50, 90]))
    beside = round(float(np.median(cublas_ms)), 6)
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


def unordered(steps: Sequence[Step]) -> list[str]:
    """Of which steps the compiler's own machine code is timed, though they have another order of
    it, and why: a sentence for each."""
    device, sentences = gpu.device(), []
    for step in steps:
        if not capability.lacking(step.compute_capability, step.shared_mem, device):
            if reason := step.kernel.why_not_rewritten(gpu.arch()):
                sentences.append(f"{step.label}: the compiler's own code is timed: {reason}")
    return sentences


# ---------------------------------------------------------------------- the roofs

_ROOFS = Path(__file__).with_name("peaks.cu").read_text(encoding="utf-8")
_FMAS, _TRIPS = 512, 683  # of a thread in a trip, as the file has it, and its trips
_BLOCKS_PER_SM = 24  # full waves where 4, 6 or 8 blocks of 256 threads run at a time


def flush_bytes() -> int:
    """Four times the L2, and enough for the write to outlast Python queueing a launch."""
    return max(4 * gpu.device().l2_bytes, 2**28)


def flusher() -> Launch:
    """What leaves the L2 cold: a write over more than it holds. It keeps its memory."""
    return functools.partial(gpu.fill_bytes, gpu.empty(flush_bytes(), np.uint8), 0)


def measure_roofs(flush: Launch) -> tuple[float, float, float]:
    """FMA peak in TFLOPS, copy bandwidth in GB/s, and an empty launch in microseconds."""
    names = ("fma_peak", "nothing")
    built = build.compile(_ROOFS, "peaks.cu", (), names, gpu.arch())
    loaded = {name: gpu.load(built.machine_code, built.lowered[name]) for name in names}
    blocks, threads = _BLOCKS_PER_SM * gpu.device().multiprocessors, 256
    out = gpu.empty(blocks * threads)
    scalars = (np.int32(_TRIPS), np.float32(0.999), np.float32(0.001))
    source, target = gpu.empty(2**28), gpu.empty(2**28)  # 1 GiB each
    works = [
        functools.partial(gpu.launch, loaded["fma_peak"], (blocks,), (threads,), (*scalars, out)),
        functools.partial(gpu.copy, target, source),
        functools.partial(gpu.launch, loaded["nothing"], (1,), (1,), ()),
    ]
    gpu.fill_bytes(source, 0)
    rounds(works, flush, 1, MIN_SECONDS)
    fma_ms, copy_ms, empty_ms = (
        float(np.median(ms)) for ms in rounds(works, flush, MIN_REPEATS, MIN_SECONDS)
    )
    flops = 2 * _FMAS * _TRIPS * blocks * threads
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
