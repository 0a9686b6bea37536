"""The time that work on several GPUs takes, between CUDA events."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anywarp import gpu
from anywarp.gpu.queues import current, device as on
from kernels.parallel.gpus import Span

REPEATS = 3  # of each, and
SECONDS = 0.1  # for each
SCRATCH = 2**31  # bytes of a write, which takes half a millisecond on an H200
HEAD_START = 16  # writes that keep the GPUs busy while Python queues what is timed

Work = tuple[Sequence[int], Callable[[], Any]]  # the GPUs that it keeps busy, and what queues it


def seconds(devices: Sequence[int], work: Callable[[], Any]) -> float:
    """Of the work on the slowest of the GPUs, with cold caches; all of them begin together."""
    warm, begins, ends = [], [], []
    for device in devices:
        with on(device):
            gpu.synchronize()
            for _ in range(HEAD_START):
                gpu.fill_bytes(_scratch(device), 0)
            warm.append(gpu.event())
    for device in devices:
        with on(device):
            for event in warm:  # the last GPU was given its writes later than the first
                current().wait_event(event)
            begins.append(gpu.event())
    work()
    for device in devices:
        with on(device):
            ends.append(gpu.event())
    for device in devices:
        with on(device):
            gpu.synchronize()
    return max(gpu.elapsed_ms(*pair) for pair in zip(begins, ends)) / 1000


@functools.cache
def _scratch(device: int) -> Any:
    return gpu.empty(SCRATCH, np.uint8)


def in_turn(works: Sequence[Work]) -> list[list[float]]:
    """Seconds of each of the works, on its GPUs, again and again and one after the other.

    All are done once before, when code is loaded and connections are made.
    """
    for _, work in works:
        work()
    times: list[list[float]] = [[] for _ in works]
    begin = time.perf_counter()
    while len(times[0]) < REPEATS or time.perf_counter() - begin < SECONDS * len(works):
        for mine, (devices, work) in zip(times, works):
            mine.append(seconds(devices, work))
    return times


def median(devices: Sequence[int], work: Callable[..., Any], *args: Any) -> float:
    """Seconds of work(*args) by itself."""
    (times,) = in_turn([(devices, functools.partial(work, *args))])
    return float(np.median(times))


def since(begins: Sequence[Any], spans: Sequence[Span]) -> list[list[Any]]:
    """[rank, what, round, start, end] of spans between events; times are in seconds after the
    begin of the rank."""

    def after(rank: int, event: Any) -> float:
        return round(gpu.elapsed_ms(begins[rank], event) / 1000, 7)

    return [[*span[:3], *(after(span.rank, event) for event in span[3:])] for span in spans]


def nothing(*_: Any) -> None:
    """In the place of a product, so that transfers are left."""
