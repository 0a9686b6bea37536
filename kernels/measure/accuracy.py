"""How wrong products are, in float32 and on tensor cores: the largest error, in roundoffs.

`python -m kernels errors` measures steps on a GPU beside cuBLAS in FP32 and in TF32: over K, over
how long tensor cores sum on their own, and in thirty products of many kinds; and what it costs to
compute again what parts of numbers cannot hold.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anywarp import gpu

from ..analysis.reference import FLOAT32_ROUNDOFF
from ..ladder.step import Step
from ..records import CUBLAS, ERRORS, own_path, write
from . import bench, cublas
from .provenance import provenance

TF32 = "cublas TF32"
SIMT = "15_any_shape"  # a chain of FMAs
CHAINED = "20_tensor_cores CHAIN=0 FOLD=0"  # tensor cores sum along all of K
LABELS = (
    SIMT,
    "20_tensor_cores",
    "20_tensor_cores ALL=1",
    "20_tensor_cores FOLD=0",
    "20_tensor_cores KIND=1 PARTS=2 FOLD=0",
    "20_tensor_cores BK=32 KIND=2 PARTS=2 CHAIN=32 FOLD=0",
    "21_warpgroups",
    "23_skinny",
)
SIDE = 512  # M and N where K varies
DEPTHS = (1, 2, 3, 4, *(2**n for n in range(3, 15)))
STUDIED = ("uniform", "positive", "wide")  # kinds of matrices there
CHAINS, CHAINED_DEPTH = (16, 32, 64, 128, 256, 4096), 4096
SHAPES = ((512, 512, 3), (1000, 1003, 17), (2048, 2048, 256), (1500, 2000, 2049), (300, 500, 16384))
SMALL = ((40, 50, 70), (130, 140, 33))  # products of which the bits are recorded
SPOILT_KIND = "spoilt"  # matrices with numbers that parts cannot hold
SPOILT_SIZE = 4096
TINY = 2.0**-120 * (1 + 2.0**-23)  # three BF16 do not hold it
SPOILT: dict[str, Callable[[Any, Any], Any]] = {  # what is put where, by what that is called
    "nothing": lambda A, B: None,
    "a tiny number in A": lambda A, B: A.__setitem__((1, 2), TINY),
    "a tiny number in B": lambda A, B: B.__setitem__((1, 2), TINY),
    "an infinity in A": lambda A, B: A.__setitem__((1, 2), np.inf),
    "tiny numbers in 32 rows of A": lambda A, B: A.__setitem__((slice(1, None, 128), 2), TINY),
    "tiny numbers alone in A": lambda A, B: A.__imul__(np.float32(2.0**-120)),
}

# ---------------------------------------------------------------------- matrices


def _wide(stream: Any, rows: int, columns: int) -> Any:
    sign = stream.choice([-1.0, 1.0], (rows, columns))
    return sign * np.exp(4 * stream.standard_normal((rows, columns)))


ELEMENTS: dict[str, Callable[[Any, int, int], Any]] = {
    "uniform": lambda stream, rows, columns: stream.uniform(-1, 1, (rows, columns)),
    "positive": lambda stream, rows, columns: stream.uniform(0, 1, (rows, columns)),
    "wide": _wide,
    "normal": lambda stream, rows, columns: stream.standard_normal((rows, columns)),
}
KINDS = (*ELEMENTS, "graded", "cancelling")  # and SPOILT_KIND, which has no error


def matrices(kind: str, M: int, N: int, K: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A (M, K) and B (K, N) in float32, the same in every run.

    "uniform" in [-1, 1), "positive" in [0, 1), "normal"; "wide", +-exp(4 x) with x normal;
    "graded", uniform with rows of A and columns of B times powers of two from 2^-20 to 2^20;
    "cancelling", uniform, where the second half of each sum nearly cancels the first; "spoilt",
    uniform, with infinities, a NaN, and numbers too large and too small for parts to hold.
    """
    stream = np.random.RandomState(seed)
    make = ELEMENTS.get(kind, ELEMENTS["uniform"])
    A, B = make(stream, M, K), make(stream, K, N)
    if kind == "graded":
        A *= np.exp2(stream.randint(-20, 21, (M, 1)))
        B *= np.exp2(stream.randint(-20, 21, (1, N)))
    if kind == "cancelling":
        half = K // 2
        A[:, half : 2 * half] = A[:, :half] * (1 + stream.uniform(-1, 1, (M, half)) / 4096)
        B[half : 2 * half] = -B[:half]
    A, B = A.astype(np.float32), B.astype(np.float32)
    if kind == SPOILT_KIND:
        A[3, 4], A[7, 2], A[20, 3], A[11] = np.inf, np.nan, 3.4e38, 2.0**-125
        B[1, 5], B[2, 31] = -np.inf, 1e-44
    return A, B


def largest_error(C: Any, A: Any, B: Any) -> float:
    """The largest |C - A B| / (u |A| |B|), elements apart, u = 2^-24; NaN if C has one. Of NumPy
    arrays or of CuPy's, in float64."""
    a, b = A.astype(np.float64), B.astype(np.float64)
    share = abs(a) @ abs(b)
    return float((abs(C - a @ b) / (FLOAT32_ROUNDOFF * share)).max())


# ---------------------------------------------------------------------- on a GPU

Product = Callable[[Any, Any], Any]


def record(steps: Sequence[Step], chained: Step, output: Path | None = None) -> dict[str, Any]:
    """Measure steps, and how long chains may be with `chained`, and save that, by default where
    `kernels.errors` reads it. Raises NoGPU, ImportError without cuBLAS."""
    gpu.require()
    output = output or own_path(gpu.device().name, ERRORS)
    products: dict[str, Product] = {
        CUBLAS: _by_cublas,
        TF32: functools.partial(_by_cublas, tf32=True),
        **{step.label: step for step in steps},
    }
    measured = {
        "provenance": provenance(cublas=cublas.version()),
        "side": SIDE,
        "errors": {kind: dict(_over_depths(products, kind)) for kind in STUDIED},
        "chained depth": CHAINED_DEPTH,
        "chains": {kind: dict(_over_chains(chained, kind)) for kind in STUDIED},
        "cases": list(_cases(products)),
        "bits": {step.label: dict(_bits(step)) for step in (*steps, chained)},
        "spoilt": {step.label: dict(_spoilt(step)) for step in steps if step.label != SIMT},
    }
    write(output, json.dumps(measured, indent=1) + "\n")
    return measured


def _by_cublas(A: Any, B: Any, tf32: bool = False) -> Any:
    C = gpu.empty((A.shape[0], B.shape[1]))
    cublas.sgemm(A, B, C, tf32=tf32)
    return C


def _there(kind: str, *shape: int) -> tuple[Any, Any]:
    A, B = matrices(kind, *shape)
    return gpu.to_device(A), gpu.to_device(B)


def _errors(products: dict[str, Product], A: Any, B: Any) -> dict[str, float]:
    return {label: largest_error(product(A, B), A, B) for label, product in products.items()}


def _over_depths(products: dict[str, Product], kind: str) -> Iterator[tuple[str, dict[str, float]]]:
    for K in DEPTHS:
        print(f"{kind}, K = {K}", flush=True)
        yield str(K), _errors(products, *_there(kind, SIDE, SIDE, K))


def _over_chains(chained: Step, kind: str) -> Iterator[tuple[str, float]]:
    """Slices along K, whose products are added up in float32."""
    A, B = _there(kind, SIDE, SIDE, CHAINED_DEPTH)
    for length in CHAINS:
        C = None
        for k in range(0, CHAINED_DEPTH, length):
            here = slice(k, k + length)
            C = chained(A[:, here], B[here], C, beta=0 if C is None else 1)
        yield str(length), largest_error(C, A, B)


def _cases(products: dict[str, Product]) -> Iterator[dict[str, Any]]:
    for shape in SHAPES:
        for kind in KINDS:
            errors = _errors(products, *_there(kind, *shape))
            yield {"kind": kind, "shape": shape, "errors": errors}


def digest(C: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(C).tobytes()).hexdigest()


def _bits(step: Step) -> Iterator[tuple[str, str]]:
    for kind in (*STUDIED, SPOILT_KIND):
        for shape in SMALL:
            C = step(*matrices(kind, *shape), device="gpu")
            yield f"{kind} {'x'.join(map(str, shape))}", digest(C)


def _spoilt(step: Step) -> Iterator[tuple[str, float]]:
    """The median milliseconds of a product by what its matrices are spoilt with."""
    A, B = _there("uniform", SPOILT_SIZE, SPOILT_SIZE, SPOILT_SIZE)
    C = gpu.empty((SPOILT_SIZE, SPOILT_SIZE))
    flush = bench.flusher()
    for name, spoil in SPOILT.items():
        spoilt = A.copy(), B.copy()
        spoil(*spoilt)
        work = functools.partial(step, *spoilt, C)
        bench.rounds([work], flush, 2, 0)
        (times,) = bench.rounds([work], flush, 5, 0)
        yield name, float(np.median(times))
