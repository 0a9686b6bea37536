"""The time that work on a GPU takes, or on the GPUs of several ranks, between CUDA events."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anywarp import gpu
from anywarp.gpu.queues import current
from kernels.parallel import gpus

REPEATS = 3  # of each, and
SECONDS = 0.1  # for each
SCRATCH = 2**31  # bytes of a write, which takes half a millisecond on an H200
HEAD_START = 16  # writes that keep the GPU busy while Python queues what is timed

Work = Callable[[], Any]  # queues what is timed on the current GPU


def seconds(work: Work, comm: Any = None) -> float:
    """Of the work, with cold caches; on the slowest of the ranks of `comm`, whose GPUs begin
    together."""
    gpu.synchronize()
    for _ in range(HEAD_START):
        gpu.fill_bytes(_scratch(gpu.current()), 0)
    if comm is not None and comm.size > 1:
        _meet(comm)
    begin = gpu.event()
    work()
    end = gpu.event()
    gpu.synchronize()
    taken = gpu.elapsed_ms(begin, end) / 1000
    return taken if comm is None else max(comm.allgather(taken))


def _meet(comm: Any) -> None:
    """Queue a sum over all ranks, which ends on none of them before all have come."""
    every = tuple(range(comm.size))
    nccl, at = gpus.load(), gpu.address(_scratch(gpu.current()))
    own = gpus.communicators(comm, [every])[every]
    own.allReduce(at, at, 1, nccl.NCCL_FLOAT32, nccl.NCCL_SUM, current().ptr)


@functools.cache
def _scratch(device: int) -> Any:
    return gpu.empty(SCRATCH, np.uint8)


def in_turn(works: Sequence[Work], comm: Any = None) -> list[list[float]]:
    """Seconds of each of the works again and again and one after the other, as often on all ranks.

    All are done once before, when code is loaded and connections are made.
    """
    for work in works:
        work()
    times: list[list[float]] = [[] for _ in works]
    begin, more = time.perf_counter(), True
    while more:
        for mine, work in zip(times, works):
            mine.append(seconds(work, comm))
        more = len(times[0]) < REPEATS or time.perf_counter() - begin < SECONDS * len(works)
        more = more if comm is None else comm.bcast(more)
    return times


def median(work: Callable[..., Any], *args: Any, comm: Any = None) -> float:
    """Seconds of work(*args) by itself."""
    (times,) = in_turn([functools.partial(work, *args)], comm)
    return float(np.median(times))


def since(begin: Any, spans: Sequence[gpus.Span]) -> list[list[Any]]:
    """[rank, what, round, start, end] of one rank's spans between events; times are in seconds
    after its begin."""

    def after(event: Any) -> float:
        return round(gpu.elapsed_ms(begin, event) / 1000, 7)

    return [[*span[:3], *map(after, span[3:])] for span in spans]


def nothing(*_: Any) -> None:
    """In the place of a product, so that transfers are left."""
