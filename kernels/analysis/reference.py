"""Inputs, the float64 reference, and the bound that every float32 result has to meet.

The bound is componentwise: |C - C64| <= gamma(K + 2) (|alpha| |A| |B| + |beta| |C0|), with
gamma(n) = n u / (1 - n u) and unit roundoff u. N. J. Higham, Accuracy and Stability of Numerical
Algorithms, 2nd ed., SIAM 2002, sections 3.1 (gamma) and 3.5 (matrix products): K roundings in a
dot product in any order, one more in alpha's product, one in the final sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

FLOAT32_ROUNDOFF = 2.0**-24
Matrix = np.ndarray


class CheckError(AssertionError):
    """A result is wrong; the message names the worst element and by how much."""


@dataclass(frozen=True)
class Comparison:
    """A result against its bound. `worst_ratio` is error / bound at its worst, inf for a NaN."""

    worst_ratio: float
    wrong: int  # elements outside the bound
    size: int
    where: tuple[int, int] | None  # row and column of the worst element; None in an empty matrix
    value: float
    expected: float
    bound: float

    @property
    def ok(self) -> bool:
        return self.wrong == 0


def inputs(M: int, N: int, K: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A (M, K), B (K, N) and C (M, N): float32, uniform in [-1, 1), the same in every run.

    All values are multiples of 2**-24, so they are exact in float32. The stream of RandomState
    is frozen (NumPy Enhancement Proposal 19); recorded checksums rely on it.
    """
    stream = np.random.RandomState(seed)

    def matrix(rows: int, columns: int) -> np.ndarray:
        units = stream.randint(-(2**24), 2**24, size=(rows, columns), dtype=np.int32)
        return units.astype(np.float32) * np.float32(2.0**-24)

    return matrix(M, K), matrix(K, N), matrix(M, N)


def gemm64(
    A: Matrix, B: Matrix, C: Matrix | None = None, alpha: float = 1, beta: float = 0
) -> Matrix:
    """alpha A B + beta C in float64, from float32 matrices, shape (M, N).

    alpha and beta are rounded to float32 first, as a kernel gets them. As in BLAS, A and B are
    not read when alpha is 0, nor C when beta is 0: a NaN there does not spread.
    """
    return _combine(A, B, C, alpha, beta, lambda x: x)


def gamma(n: int, u: float = FLOAT32_ROUNDOFF) -> float:
    """n u / (1 - n u), which bounds the relative error of n roundings (Higham, lemma 3.1)."""
    if n * u >= 1:
        raise ValueError(f"{n} roundings of unit roundoff {u} have no bound: n u must be below 1")
    return n * u / (1 - n * u)


def error_bound(
    A: Matrix, B: Matrix, C: Matrix | None = None, alpha: float = 1, beta: float = 0
) -> Matrix:
    """The largest error each element may have: float64, shape (M, N)."""
    return gamma(A.shape[1] + 2) * _combine(A, B, C, alpha, beta, np.abs)


def compare(
    C: Matrix, A: Matrix, B: Matrix, C0: Matrix | None = None, alpha: float = 1, beta: float = 0
) -> Comparison:
    """Compare `C` with alpha A B + beta C0. A NaN on either side is always outside the bound."""
    expected = gemm64(A, B, C0, alpha, beta)
    bound = error_bound(A, B, C0, alpha, beta)
    if C.shape != expected.shape:
        raise CheckError(f"the result has shape {C.shape}, expected {expected.shape}")
    if C.size == 0:
        return Comparison(0.0, 0, 0, None, 0.0, 0.0, 0.0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        error = np.abs(C.astype(np.float64) - expected)
        inside = error <= bound  # written so that NaN is not inside
        ratio = np.where(error == 0, 0.0, error / bound)
    ratio = np.where(np.isnan(ratio) | np.isnan(bound), np.inf, ratio)
    i, j = (int(x) for x in np.unravel_index(ratio.argmax(), ratio.shape))
    return Comparison(
        worst_ratio=float(ratio[i, j]),
        wrong=int(C.size - inside.sum()),
        size=C.size,
        where=(i, j),
        value=float(C[i, j]),
        expected=float(expected[i, j]),
        bound=float(bound[i, j]),
    )


def assert_close(
    C: Matrix, A: Matrix, B: Matrix, C0: Matrix | None = None, alpha: float = 1, beta: float = 0
) -> Comparison:
    """`compare`, raising CheckError when an element is outside the bound."""
    result = compare(C, A, B, C0, alpha, beta)
    if not result.ok and result.where is not None:  # an empty matrix has nothing wrong
        i, j = result.where
        raise CheckError(
            f"C[{i}, {j}] is {result.value:.9g}, expected {result.expected:.9g} "
            f"within {result.bound:.2g}; {result.wrong} of {result.size} elements are wrong"
        )
    return result


def _combine(
    A: Matrix, B: Matrix, C: Matrix | None, alpha: float, beta: float, part: Callable[[Any], Any]
) -> Matrix:
    """part(alpha) part(A) part(B) + part(beta) part(C) in float64; unused matrices are not read."""
    alpha, beta = float(np.float32(alpha)), float(np.float32(beta))
    result = np.zeros((A.shape[0], B.shape[1]))
    if alpha != 0:
        result += part(alpha) * (part(A.astype(np.float64)) @ part(B.astype(np.float64)))
    if beta != 0:
        assert C is not None, "beta scales C, so C must be given"
        result += part(beta) * part(C.astype(np.float64))
    return result
