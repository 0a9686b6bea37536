"""Which step is the best for a product: what was measured decides."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from anywarp import gpu
from anywarp.capability import lacking

from ..records import Record, Results, results
from . import model
from .calls import ON_GPU, Calls
from .product.layout import SLICE, TRANSPOSED, WHOLE, can_read, form_of, require_own_elements
from .product.product import Product
from .running import run
from .step import Step, advice, is_limit, steps

Forms = tuple[int, int, int]  # of A, B and C: see `layout.form_of`
CALLS = {False: Calls(), True: Calls()}  # by whether tensor cores are allowed
SHOWN = 6  # rows of a plan that it prints
GAIN = 1.05  # at least, of tensor cores: the model errs by as much, and FMAs lose no numbers


class Asked(NamedTuple):
    """What of a product decides which step is taken for it: (M, N, K); alpha and beta, of which
    0.5 stands for all but 0 and 1; what divides the addresses of the matrices; the GPU, None for
    the interpreter; and how A, B and C are stored, see `layout.form_of`."""

    shape: tuple[int, int, int]
    alpha: float = 1
    beta: float = 0
    alignment: int = 256
    device: gpu.Device | None = None
    forms: Forms = (WHOLE, WHOLE, WHOLE)

    @classmethod
    def by(cls, product: Product) -> Asked:
        """What decides of this product."""
        alpha, beta = (x if x in (0, 1) else 0.5 for x in (product.alpha, product.beta))
        device = gpu.device() if product.where == "gpu" else None
        forms = form_of(product.A), form_of(product.B), _form_of_c(product)
        return cls(product.shape, alpha, beta, product.alignment, device, forms)


def sgemm(
    A: Any,
    B: Any,
    C: Any = None,
    alpha: float = 1,
    beta: float = 0,
    device: str = "auto",
    tensor_cores: bool = False,
    *,
    out: Any = None,
) -> Any:
    """C = alpha A B + beta C by the best step for this device, shape and storage.

        C = kernels.sgemm(A, B)
        kernels.sgemm(A, B, C, alpha=2, beta=1)  # C is updated in place, and returned
        kernels.sgemm(A, B, out=C)               # the same with beta = 0

    A is (M, K), B (K, N) and C (M, N), all NumPy's, which gives a NumPy array, or all CuPy's, or
    of a library that shares its memory with these by DLPack, such as PyTorch; float32, of fewer
    than 2^31 elements each. A slice of a larger matrix and a transpose are read
    as they are. A C that is stored by columns is computed as C^T = B^T A^T; one that no step can
    store, as C[::-1], through a copy. C may not overlap A or B. As in BLAS, C is not read when
    beta is 0, nor A and B when alpha is 0. alpha and beta are numbers, or arrays of no dimensions.
    `device`: "auto" (the GPU if there is one), "gpu" or "interpreter".

    The best step is the one that `model` predicts to be the fastest; where it knows none, on an
    older GPU or in the interpreter, the step with the highest rate on record near this shape, and
    one without a record only where no other can do it. The choice is remembered; `sgemm.plan` says
    what it is. Sums are of float32 products in float32, unless `tensor_cores` allows others that
    meet the same error bound. In which order they are summed is the step's: the bits of C depend
    on shape, storage and GPU, and are the same each time for the same of these.

    Raises TypeError or ValueError for what no step can take, gpu.NoGPU, and build.CompileError,
    all before anything runs.
    """
    if out is not None:
        if C is not None or beta != 0:
            raise TypeError("out is a C that is not read: pass C with beta, or out, not both")
        C = out
    calls = CALLS[bool(tensor_cores)]
    if device in ON_GPU and (done := calls.again(A, B, C, alpha, beta)) is not None:
        return done
    asked = Product.of(A, B, C, alpha, beta, device)
    product = by_rows(asked)
    best, fits = chosen(product, tensor_cores)
    if not fits and _form_of_c(asked) & ~SLICE:
        require_own_elements(asked.C)
        asked.C[...] = sgemm(asked.A, asked.B, asked.C.copy(), alpha, beta, device, tensor_cores)
    elif not fits:  # it says what it lacks, or is interpreted
        result = best(asked.A, asked.B, asked.C, alpha, beta, device)
    else:
        result = run(best, product)
        if product.where == "gpu":
            calls.remember(best, asked, product._replace(C=result))
    return result if C is None else C


def by_rows(product: Product) -> Product:
    """The product, or its transpose if that is what has a C that is stored by rows."""
    return product.transposed() if _form_of_c(product) & TRANSPOSED else product


def _form_of_c(product: Product) -> int:
    """How C is stored; a new one is stored row by row."""
    return WHOLE if product.C is None else form_of(product.C)


@dataclass(frozen=True, repr=False)
class Plan:
    """What `sgemm` would run for a product, and why. Prints as a table."""

    step: Step
    shape: tuple[int, int, int]  # M, N, K as the step computes them
    where: str  # "gpu" or "interpreter"
    why: str
    unit: str  # "us" that are predicted, or "TFLOPS" on record near this shape
    ways: tuple[tuple[str, float | None], ...]  # labels of all that suit, best first, with those

    def __repr__(self) -> str:
        width = max(len(label) for label, _ in self.ways)
        sides = " x ".join(map(str, self.shape))
        lines = [
            f"{sides} on the {self.where}: {self.step.label}",
            f"{self.why}; {' '.join(f'{k}={v}' for k, v in self.step.defines.items())}",
        ]
        for label, n in self.ways[:SHOWN]:
            lines.append(f"  {label:<{width}}  {'-' if n is None else f'{n:.4g}':>8} {self.unit}")
        if (rest := len(self.ways) - SHOWN) > 0:
            lines.append(f"  and {rest} more")
        return "\n".join(lines)


def plan(
    A: Any,
    B: Any,
    C: Any = None,
    alpha: float = 1,
    beta: float = 0,
    device: str = "auto",
    tensor_cores: bool = False,
) -> Plan:
    """What `sgemm` would run with these arguments, and why; nothing is run, nor C written.

    Raises what `sgemm` does for its arguments.
    """
    asked = Product.of(A, B, C, alpha, beta, device)
    product = by_rows(asked)
    best, fits = chosen(product, tensor_cores)
    copied = not fits and bool(_form_of_c(asked) & ~SLICE)
    if copied:
        product = asked._replace(C=None)
        best, fits = chosen(product, tensor_cores)
    if not fits:
        best._stored_as(product)
        product.require_alignment(best.label, best.alignment)
    decides = Asked.by(product)
    ways: list[tuple[Step, float | None]]
    ways = [(way, 1e6 * seconds) for way, seconds in predicted(decides, tensor_cores)]
    why, unit = "predicted to be the fastest", "us"
    if tensor_cores and not best.tensor_cores:
        why += f", but for tensor cores that gain less than {GAIN - 1:.0%}"
    if not ways:
        why, unit = "of the highest rate on record near this shape", "TFLOPS"
        ways = ranked(_usual(tensor_cores), _timings(), decides)
    why += ", as C^T = B^T A^T" * (product.A is not asked.A) + ", through a copy of C" * copied
    labels = ((way._storing(*_transposed(decides)).label, value) for way, value in ways)
    return Plan(best, product.shape, product.where, why, unit, tuple(labels))


sgemm.plan = plan  # type: ignore[attr-defined]


def chosen(product: Product, tensor_cores: bool = False) -> tuple[Step, bool]:
    """The step that `sgemm` takes for a product, and whether shape, storage and scalars are already
    checked: if not, a call of the step says what it lacks."""
    return _remembered(Asked.by(product), bool(tensor_cores))


@functools.lru_cache(maxsize=4096)
def _remembered(asked: Asked, tensor_cores: bool) -> tuple[Step, bool]:
    """`chosen`, remembered for this GPU: another one has another choice."""
    best = None
    if asked.device is not None:
        best = modelled(asked, tensor_cores)
    if best is None:
        best = choose(_usual(tensor_cores), _timings(), asked)
    fits = not best._asks_scalars(*asked.shape) and _suits(best, asked)
    return (best._storing(*_transposed(asked)) if fits else best), fits


def _usual(tensor_cores: bool) -> list[Step]:
    """The steps that may be taken without a model."""
    return [each for each in steps() if tensor_cores or not each.tensor_cores]


def _transposed(asked: Asked) -> tuple[int, int]:
    """TRANS_A and TRANS_B of what reads such matrices."""
    return asked.forms[0] & TRANSPOSED, asked.forms[1] & TRANSPOSED


def modelled(asked: Asked, tensor_cores: bool = False) -> Step | None:
    """The step, variant and way to share out K that the model predicts to be the fastest of those
    that suit, and whose machine code is what was timed; None without any, and where an older GPU
    need not share out K."""
    ways = predicted(asked, tensor_cores)
    best = next((way for way, _ in ways if _as_timed(way, *_transposed(asked))), None)
    if best and asked.device and model.is_whole(best):
        if asked.device.compute_capability < model.ASYNC:
            return None  # without asynchronous copies, steps that load ahead are faster
    return best


def predicted(asked: Asked, tensor_cores: bool = False) -> list[tuple[Step, float]]:
    """What the model knows that suits, with the seconds that it predicts, the fastest first; but
    tensor cores only where they gain enough."""
    if asked.device is None:
        return []
    on = model.gpu_of(asked.device)
    labels = model.candidates(on, tensor_cores)
    trans_a, trans_b = map(bool, _transposed(asked))
    seconds = [
        (way, model.predicted(way.label, *asked.shape, trans_a, trans_b, asked.alignment, on))
        for way in (model.named(label, on.compute_capability) for label in labels)
        if not way.broken(*asked.shape, asked.alpha, asked.beta)
        and _suits(way, asked)
        and asked.shape[2] >= way.defines.get("LEAST_K", 0)  # below it, there are FMAs only
    ]
    return sorted(seconds, key=lambda timed: timed[1] * (GAIN if timed[0].tensor_cores else 1))


def _as_timed(way: Step, trans_a: int, trans_b: int) -> bool:
    """Whether the machine code is what was timed: reordered, for a step that is to be. It is
    compiled for that, which the first call does anyway."""
    if not way.file.reordered:
        return True
    return way._storing(trans_a, trans_b).kernel.why_not_rewritten(gpu.arch()) is None


def _suits(way: Step, asked: Asked) -> bool:
    """Whether the step can read the matrices as they lie, on this GPU."""
    return asked.alignment % way.alignment == 0 and _runs_on(way, asked) and _readable(way, asked)


def _runs_on(way: Step, asked: Asked) -> bool:
    """Whether the GPU, if there is one, has what the step needs."""
    device = asked.device
    return device is None or lacking(way.compute_capability, way.shared_mem, device) is None


def _readable(way: Step, asked: Asked) -> bool:
    """Whether the step can be had in a form that reads matrices stored so."""
    stored = zip("ABC", asked.forms)
    return all(can_read(form, name, way.defines, way.arguments) for name, form in stored)


def choose(candidates: Sequence[Step], timings: Results, asked: Asked) -> Step:
    """The best of the candidates for a product, by what is on record.

    If matrices or GPU suit no step, one that they do not suit is chosen, and says so when it is
    called. Raises ValueError for a shape that no step can do.
    """
    return ranked(candidates, timings, asked)[0][0]


def ranked(
    candidates: Sequence[Step], timings: Results, asked: Asked
) -> list[tuple[Step, float | None]]:
    """Those of the candidates that suit, with their rates near the shape: the best first, those
    without a record last. Raises what `choose` does."""
    broken = {way: way.broken(*asked.shape, asked.alpha, asked.beta) for way in candidates}
    able = [way for way in candidates if not broken[way]]
    if not able:
        sides = "M = {}, N = {}, K = {}".format(*asked.shape)
        last = max(candidates, key=lambda way: (is_limit(way, broken[way]), way.number))
        raise ValueError(
            f"no step can do {sides}: {advice(broken)} ({last.label} requires {broken[last]})"
        )
    able = [way for way in able if _readable(way, asked)] or able
    able = [way for way in able if asked.alignment % way.alignment == 0] or able
    able = [way for way in able if _runs_on(way, asked)] or able
    rates = [(way, rate_near(timings, way, asked.shape)) for way in able]
    return sorted(
        rates,
        key=lambda rated: (rated[1] is not None, rated[1] or 0, rated[0].number),
        reverse=True,
    )


def rate_near(timings: Results, way: Step, shape: tuple[int, int, int]) -> float | None:
    """TFLOPS of the step's record with the most similar shape; None without any.

    Shapes are as far apart as their factors in M, N and K make, multiplied: a product of few
    blocks with a long K says little about a square one with as many multiply-adds.
    """

    def distance(record: Record) -> float:
        sides = zip((record.M, record.N, record.K), shape)
        return sum(abs(math.log(side / max(wanted, 1))) for side, wanted in sides)

    nearest = min(timings.select(way), key=distance, default=None)
    return nearest.tflops if nearest else None


@functools.cache
def _timings() -> Results:
    """The recorded timings of the book's GPU."""
    return results(model.RECORDED_ON)
