"""Matrices of many kinds, and how wrong a product of them is: the largest error, in roundoffs.

`benchmarks/errors.py` records that of steps on a GPU, beside cuBLAS.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ..analysis.reference import FLOAT32_ROUNDOFF

STUDIED = ("uniform", "positive", "wide")  # kinds of matrices of which the error over K is recorded
SPOILT_KIND = "spoilt"  # matrices with numbers that parts cannot hold


def _wide(stream: Any, rows: int, columns: int) -> Any:
    """Numbers +-exp(4 x), x normal, of which few decide a sum."""
    sign = stream.choice([-1.0, 1.0], (rows, columns))
    return sign * np.exp(4 * stream.standard_normal((rows, columns)))


ELEMENTS: dict[str, Callable[[Any, int, int], Any]] = {
    "uniform": lambda stream, rows, columns: stream.uniform(-1, 1, (rows, columns)),
    "positive": lambda stream, rows, columns: stream.uniform(0, 1, (rows, columns)),
    "wide": _wide,
    "normal": lambda stream, rows, columns: stream.standard_normal((rows, columns)),
}
KINDS = (*ELEMENTS, "graded", "cancelling")  # and SPOILT_KIND, which has no error
# kinds that are hard for products on tensor cores
HARD = ("below", "large column", "two in a row", "ascending", "opposed", "short", "distances")


def matrices(kind: str, M: int, N: int, K: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A (M, K) and B (K, N) in float32, the same in every run.

    "uniform" in [-1, 1), "positive" in [0, 1), "normal"; "wide", +-exp(4 x) with x normal;
    "graded", uniform with rows of A and columns of B times powers of two from 2^-20 to 2^20;
    "cancelling", uniform, where the second half of each sum nearly cancels the first; "spoilt",
    uniform, with infinities, a NaN, and numbers too large and too small for parts to hold.

    "below": all products of a sum but the last, which is 1, lie just below 2^-25; "large column":
    positive, the last column of A times 2^20; "two in a row": two numbers in each row of A, zeros
    beside them; "ascending": columns of A times powers of two from 1 to 2^60; "opposed": columns of
    A times powers of two from 2^-40 to 2^40, rows of B divided by them; "short": the first column
    of A is 1, others have seven bits and are times 2^-38, the first row of B is 0; "distances": A
    is exp(-100 d^2), d between points of the unit cube.
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
    if kind == "below":
        A[:], B[:] = 2**-12.5 * 0.999, 2**-12.5 * 0.999
        A[:, -1], B[-1] = 1, 1
    if kind == "large column":
        A, B = abs(A) * np.where(np.arange(K) == K - 1, 2**20, 1), abs(B)
    if kind == "two in a row":
        A *= stream.random_sample(A.shape).argsort(1).argsort(1) < 2
    if kind == "ascending":
        A *= np.exp2(np.arange(K) * 60 // K)
    if kind == "opposed":
        powers = np.exp2(stream.randint(-40, 41, K))
        A, B = A * powers, B / powers[:, None]
    if kind == "short":
        A = np.round(128 * A) / 2.0**45
        A[:, 0], B[0] = 1, 0
    if kind == "distances":
        points, others = stream.uniform(0, 1, (M, 1, 3)), stream.uniform(0, 1, (1, K, 3))
        A = np.exp(-100 * sum((points[..., i] - others[..., i]) ** 2 for i in range(3)))
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


def digest(C: np.ndarray) -> str:
    """The SHA-256 of the elements of a matrix."""
    return hashlib.sha256(np.ascontiguousarray(C).tobytes()).hexdigest()
