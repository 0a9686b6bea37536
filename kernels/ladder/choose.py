"""Which step is the best for a shape: what was measured decides."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from anywarp import gpu
from anywarp.capability import lacking
from anywarp.kernel import choose_device

from ..records import Record, Results, results
from . import model
from .calls import ON_GPU, Calls
from .product.arguments import alignment_of, shape_of
from .product.layout import TRANSPOSED, WHOLE, can_read, form_of
from .step import Step, advice, is_limit, steps

Forms = tuple[int, int, int]  # of A, B and C: see `layout.form_of`
CALLS = {False: Calls(), True: Calls()}  # by whether tensor cores are allowed


def sgemm(
    A: Any,
    B: Any,
    C: Any = None,
    alpha: float = 1,
    beta: float = 0,
    device: str = "auto",
    tensor_cores: bool = False,
) -> Any:
    """`Step.__call__` with the best step for this device, shape and storage.

    A slice of a larger matrix and a transpose are read as they are. The best is the one that
    `model` predicts to be the fastest; where it knows none, on an older GPU or in the interpreter,
    the step with the highest rate on record near this shape, and one without a record only where
    no other can do it. The choice is remembered. Sums are of float32 products in float32,
    unless `tensor_cores` allows others that meet the same error bound.
    """
    calls = CALLS[bool(tensor_cores)]
    if device in ON_GPU and (done := calls.again(A, B, C, alpha, beta)) is not None:
        return done
    M, N, K = shape_of(A, B, C, alpha, beta)
    where = choose_device(device, (A, B) if C is None else (A, B, C))
    best, fits = chosen(M, N, K, A, B, C, alpha, beta, where, tensor_cores)
    if not fits:  # it says what it lacks, or is interpreted
        return best(A, B, C, alpha, beta, device)
    result = best.run(M, N, K, A, B, C, alpha, beta, where)
    if where == "gpu":
        calls.remember(best, A, B, C, alpha, beta, result)
    return result


def chosen(
    M: int,
    N: int,
    K: int,
    A: Any,
    B: Any,
    C: Any = None,
    alpha: float = 1,
    beta: float = 0,
    where: str = "gpu",
    tensor_cores: bool = False,
) -> tuple[Step, bool]:
    """The step that `sgemm` takes, and whether nothing is left to be looked at."""
    return _remembered(
        M,
        N,
        K,
        _kind(alpha),
        _kind(beta),
        alignment_of(A, B, C),
        (form_of(A), form_of(B), WHOLE if C is None else form_of(C)),
        gpu.device() if where == "gpu" else None,
        bool(tensor_cores),
    )


def _kind(x: float) -> float:
    """0, 1 or a number that stands for all others."""
    return x if x in (0, 1) else 0.5


@functools.lru_cache(maxsize=4096)
def _remembered(
    M: int,
    N: int,
    K: int,
    alpha: float,
    beta: float,
    alignment: int,
    forms: Forms,
    device: gpu.Device | None,
    tensor_cores: bool,
) -> tuple[Step, bool]:
    """Remembered for this GPU: another one has another choice."""
    shape = M, N, K
    best = None
    if device is not None:
        best = modelled(shape, alpha, beta, alignment, device, forms, tensor_cores)
    if best is None:
        usual = [one for one in steps() if tensor_cores or not one.tensor_cores]
        best = choose(usual, _timings(), shape, alpha, beta, alignment, device, forms)
    fits = not best.asks_scalars(M, N, K) and _suits(best, alignment, device, forms)
    return (best.storing(*(form & TRANSPOSED for form in forms[:2])) if fits else best), fits


def modelled(
    shape: tuple[int, int, int],
    alpha: float,
    beta: float,
    alignment: int,
    device: gpu.Device,
    forms: Forms,
    tensor_cores: bool = False,
) -> Step | None:
    """The step, variant and way to share out K that the model predicts to be the fastest of those
    that suit; None without any, and where an older GPU need not share out K. Arguments are those of
    `choose`."""
    on = model.gpu_of(device)
    labels = model.candidates(on.compute_capability, on.multiprocessors, on.name, tensor_cores)
    able = [
        one
        for one in _named(labels, on.compute_capability)
        if not one.broken(*shape, alpha, beta)
        and _suits(one, alignment, device, forms)
        and shape[2] >= one.defines.get("LEAST_K", 0)  # below it, there are FMAs only
    ]
    trans_a, trans_b = (bool(form & TRANSPOSED) for form in forms[:2])

    def seconds(one: Step) -> float:
        return model.predicted(one.label, *shape, trans_a, trans_b, alignment, on)

    fastest_first = sorted(able, key=seconds)
    best = next((way for way in fastest_first if _as_timed(way, trans_a, trans_b)), None)
    if best and on.compute_capability < model.ASYNC and model.is_whole(best):
        return None  # without asynchronous copies, steps that load ahead are faster
    return best


def _as_timed(one: Step, trans_a: bool, trans_b: bool) -> bool:
    """Whether the machine code is what was timed: reordered, for a step that is to be. It is
    compiled for that, which the first call does anyway."""
    if not one.file.reordered:
        return True
    return one.storing(trans_a, trans_b).kernel.why_not_rewritten(gpu.arch()) is None


@functools.cache
def _named(labels: tuple[str, ...], compute_capability: tuple[int, int]) -> tuple[Step, ...]:
    """The steps of these labels, looked up once."""
    return tuple(model.named(label, compute_capability) for label in labels)


def _suits(one: Step, alignment: int, device: gpu.Device | None, forms: Forms) -> bool:
    """Whether the step can read the matrices as they lie, on this GPU."""
    return (
        alignment % one.alignment == 0
        and (device is None or _runs_on(one, device))
        and _readable(one, forms)
    )


def _runs_on(one: Step, device: gpu.Device) -> bool:
    return lacking(one.compute_capability, one.shared_mem, device) is None


def _readable(one: Step, forms: Forms) -> bool:
    return all(can_read(form, name, one.defines, one.arguments) for name, form in zip("ABC", forms))


def choose(
    candidates: Sequence[Step],
    timings: Results,
    shape: tuple[int, int, int],
    alpha: float = 1,
    beta: float = 0,
    alignment: int = 256,
    device: gpu.Device | None = None,
    forms: Forms = (WHOLE, WHOLE, WHOLE),
) -> Step:
    """The best of the candidates for the product of this shape (M, N, K).

    `alignment` divides the addresses of the matrices; `device` is the GPU, None for the
    interpreter; `forms` say how A, B and C are stored: see `layout.form_of`. If matrices or GPU
    suit no step, one that they do not suit is chosen, and says so when it is called. Raises
    ValueError for a shape that no step can do.
    """
    broken = {one: one.broken(*shape, alpha, beta) for one in candidates}
    able = [one for one in candidates if not broken[one]]
    if not able:
        sides = "M = {}, N = {}, K = {}".format(*shape)
        last = max(candidates, key=lambda one: (is_limit(one, broken[one]), one.number))
        raise ValueError(
            f"no step can do {sides}: {advice(broken)} ({last.label} requires {broken[last]})"
        )
    able = [one for one in able if _readable(one, forms)] or able
    able = [one for one in able if alignment % one.alignment == 0] or able
    if device is not None:
        able = [one for one in able if _runs_on(one, device)] or able
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
    return results(model.RECORDED_ON)
