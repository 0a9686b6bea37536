"""Which step is the best for a shape: what was measured decides."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from ..measure.records import Record, Results, results
from ..run import gpu
from ..run.capability import runs_on
from ..run.kernel import choose_device
from .arguments import alignment_of, shape_of
from .step import Step, advice, is_limit, steps

RECORDED_ON = "NVIDIA H200"  # the records that choose


def sgemm(
    A: Any, B: Any, C: Any = None, alpha: float = 1, beta: float = 0, device: str = "auto"
) -> Any:
    """`Step.__call__` with the best step for this device and shape.

    That is the one with the highest rate on record near this shape, of those that can do it. A
    step without a record is taken only where no other can. The choice is remembered.
    """
    M, N, K = shape_of(A, B, C, alpha, beta)
    where = choose_device(device, (A, B) if C is None else (A, B, C))
    capability = gpu.device().compute_capability if where == "gpu" else None
    best = _remembered(M, N, K, alpha, beta, alignment_of(A, B, C), capability)
    if capability is not None and not runs_on(best.compute_capability, capability):
        return best(A, B, C, alpha, beta, device)  # which says what it lacks, or interprets
    return best.stored_as(A, B, C).run(M, N, K, A, B, C, alpha, beta, where)


@functools.lru_cache(maxsize=4096)
def _remembered(
    M: int,
    N: int,
    K: int,
    alpha: float,
    beta: float,
    alignment: int,
    capability: tuple[int, int] | None,
) -> Step:
    return choose(steps(), _timings(), (M, N, K), alpha, beta, alignment, capability)


def choose(
    candidates: Sequence[Step],
    timings: Results,
    shape: tuple[int, int, int],
    alpha: float = 1,
    beta: float = 0,
    alignment: int = 256,
    capability: tuple[int, int] | None = None,
) -> Step:
    """The best of the candidates for the product of this shape (M, N, K).

    `alignment` divides the addresses of the matrices; `capability` is the GPU's, None for the
    interpreter. If matrices or GPU suit no step, one that they do not suit is chosen, and says so
    when it is called. Raises ValueError for a shape that no step can do.
    """
    broken = {one: one.broken(*shape, alpha, beta) for one in candidates}
    able = [one for one in candidates if not broken[one]]
    if not able:
        sides = "M = {}, N = {}, K = {}".format(*shape)
        last = max(candidates, key=lambda one: (is_limit(one, broken[one]), one.number))
        raise ValueError(
            f"no step can do {sides}: {advice(broken)} ({last.label} requires {broken[last]})"
        )
    able = [one for one in able if alignment % one.alignment == 0] or able
    if capability is not None:
        able = [one for one in able if runs_on(one.compute_capability, capability)] or able
    rates = {one.id: rate_near(timings, one, shape) for one in able}
    return max(able, key=lambda one: (rates[one.id] is not None, rates[one.id] or 0, one.number))


def rate_near(timings: Results, one: Step, shape: tuple[int, int, int]) -> float | None:
    """TFLOPS of the step's record with the most similar shape; None without any.

    Shapes are as far apart as their factors in M, N and K make, multiplied: a product of few
    blocks with a long K says little about a square one with as many multiply-adds.
    """

    def distance(record: Record) -> float:
        sides = zip((record.M, record.N, record.K), shape)
        return sum(abs(math.log(side / max(wanted, 1))) for side, wanted in sides)

    nearest = min(timings.select(one), key=distance, default=None)
    return nearest.tflops if nearest else None


@functools.cache
def _timings() -> Results:
    return results(RECORDED_ON)
