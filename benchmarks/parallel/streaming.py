"""Measures, on one GPU, the way to the host's memory and products that are streamed from there."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from anywarp import gpu
from anywarp.gpu import queues
from kernels.analysis.reference import assert_close
from kernels.ladder.step import Step
from kernels.parallel import stream

from . import clock, inputs

ORDER = 16384
TILES = (8192, 4096, 2048, 1024)
SHOWN = 4096  # the side of a copied part of a matrix
REPEATS = 3
COPIED = 2**28  # elements: 1 GiB
COPIES = 24  # of a part, in turn with products


def bandwidths(step: Step) -> Iterator[list[Any]]:
    """[what is copied, 10^9 bytes a second].

    A whole matrix up to the GPU, down from it, and each way when both go on; then columns of one,
    as many as a tile has, whose rows lie apart, up, and the same while the step multiplies.
    """
    there = [gpu.empty((2**14, COPIED >> 14)) for _ in range(2)]
    here = [queues.pinned(x.shape) for x in there]
    first, second = queues.stream(), queues.stream()
    up = functools.partial(queues.copy_matrix, there[0], here[0], first)
    down = functools.partial(queues.copy_matrix, here[1], there[1], second)
    for name, copies in (("up", [up]), ("down", [down]), ("both", [up, down])):
        yield [name, 4 * COPIED / _seconds(functools.partial(_all, copies)) / 1e9]
    for tile in TILES:
        yield [f"{tile} columns", _columns_gbs(tile, clock.nothing)]
        yield [f"{tile} columns beside products", _columns_gbs(tile, step)]


def _all(copies: Sequence[Callable[[], None]]) -> None:
    for copy in copies:
        copy()
    gpu.synchronize()


def _columns_gbs(width: int, product: Any) -> float:
    """The rate of a copy by itself, between events, while another stream multiplies."""
    part = _matrices()[0][:SHOWN, :width]
    target = gpu.empty(part.shape)
    operands = [gpu.empty((SHOWN, SHOWN)) for _ in range(3)]
    for matrix in operands:
        gpu.fill_bytes(matrix, 0)
    gpu.synchronize()
    copying, multiplying = queues.stream(), queues.stream()
    with multiplying:
        for _ in range(COPIES):
            product(*operands)
    marks = [gpu.event(copying)]
    for _ in range(COPIES):
        queues.copy_matrix(target, part, copying)
        marks.append(gpu.event(copying))
    gpu.synchronize()
    times = [gpu.elapsed_ms(*pair) for pair in itertools.pairwise(marks)]
    size: int = target.nbytes
    return 1e-6 * size / float(np.median(times))


def streamed(steps: Sequence[Step]) -> Iterator[dict[str, Any]]:
    """Products with tiles of several sizes; without a step, the transfers alone."""
    A, B, C = _matrices()
    random = np.random.default_rng(0)
    rows, columns = (random.choice(ORDER, 16, replace=False) for _ in range(2))
    for tile in TILES:
        for step in (None, *steps):
            product = step or clock.nothing
            C[...] = np.nan
            seconds = _seconds(
                functools.partial(
                    stream.multiply, A, B, C, tile=(tile, ORDER), step=product, device="gpu"
                )
            )
            if step is not None:
                assert_close(C[np.ix_(rows, columns)], A[rows], B[:, columns])
            name = step.label if step else None
            yield {"n": ORDER, "tile": tile, "step": name, "seconds": seconds}


@functools.cache
def _matrices() -> tuple[np.ndarray, ...]:
    """A, B and room for C, in page-locked memory, which takes seconds to get."""
    A, B, C = (queues.pinned((ORDER, ORDER)) for _ in range(3))
    for matrix, X in (("A", A), ("B", B)):
        X[...] = gpu.to_host(inputs.whole(matrix, ORDER, ORDER))
    return A, B, C


def _seconds(run: Callable[[], Any]) -> float:
    """The median of some, after a first time."""
    run()
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return float(np.median(times))
