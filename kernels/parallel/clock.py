"""The time that work on several GPUs takes, between CUDA events."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..run import gpu
from . import nccl

REPEATS = 5
SCRATCH = 2**31  # bytes of a write, which takes half a millisecond on an H200
HEAD_START = 8  # writes that keep the GPUs busy while Python queues what is timed


def seconds(devices: Sequence[int], work: Callable[[], Any]) -> float:
    """Of the work on the slowest of the GPUs, with cold caches."""
    begins, ends = [], []
    for device in devices:
        with nccl.device(device):
            gpu.synchronize()
            for _ in range(HEAD_START):
                gpu.fill_bytes(_scratch(device), 0)
    for device in devices:
        with nccl.device(device):
            begins.append(gpu.event())
    work()
    for device in devices:
        with nccl.device(device):
            ends.append(gpu.event())
    for device in devices:
        with nccl.device(device):
            gpu.synchronize()
    return max(gpu.elapsed_ms(*pair) for pair in zip(begins, ends)) / 1000


@functools.cache
def _scratch(device: int) -> Any:
    return gpu.empty(SCRATCH, np.uint8)


def median(devices: Sequence[int], work: Callable[..., Any], *args: Any) -> float:
    """Seconds of work(*args), after a first time in which code is loaded and links are made."""
    run = functools.partial(work, *args)
    run()
    return float(np.median([seconds(devices, run) for _ in range(REPEATS)]))
