"""How fast all SMs together read shared memory, and how the kernels of latency.cu are launched.

`benchmarks/latency.py` times the others of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anywarp import Kernel, gpu

from . import bench

SOURCE = Path(__file__).with_suffix(".cu").read_text(encoding="utf-8")
REPEATS = 20
SHARED_THREADS, SHARED_ROUNDS, SHARED_READS = 256, 4000, 8  # of `read_shared`
SHARED_FLOATS = 8192  # that it reads again and again


def launch(
    name: str, grid: int, block: int, args: Sequence[Any], chains: int = 1, shared: int = 0
) -> Callable[[], None]:
    """A launch of a kernel of the source, with all that can be prepared, prepared."""
    kernel = Kernel(SOURCE, name, [f"-DCHAINS={chains}"], filename="latency.cu")
    loaded = gpu.load(kernel.cubin(gpu.arch()), kernel.symbol)
    return functools.partial(gpu.launch, loaded, (grid,), (block,), args, shared)


def median_ms(work: Callable[[], None]) -> float:
    """Of one launch, each after a write larger than the L2."""
    (times,) = bench.rounds([work], bench.flusher(), REPEATS, 0)
    return float(np.median(times))


def shared_bandwidth() -> float:
    """GB/s that all SMs together read from shared memory."""
    x = gpu.empty(SHARED_FLOATS)
    gpu.fill_bytes(x, 0)
    grid = 24 * gpu.device().multiprocessors  # full waves where 4 or 6 blocks run at a time
    args = (np.int32(SHARED_ROUNDS), x, gpu.empty(grid * SHARED_THREADS))
    ms = median_ms(launch("read_shared", grid, SHARED_THREADS, args))
    return grid * SHARED_THREADS * SHARED_ROUNDS * SHARED_READS * 16 / (ms * 1e6)
