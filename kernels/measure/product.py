"""C = A B on the GPU, prepared to be timed: operands, the launches of a step, and their check."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from anywarp import gpu

from ..analysis.reference import CheckError, assert_close, gamma, inputs
from ..ladder.step import Step

Launch = Callable[[], None]
Loaded = Mapping[str, gpu.Loaded]  # kernels on the GPU, by name
Matrix = Callable[[str, int], Any]  # "A" or "B", and 1 for one stored by columns: see `matrices`


def launch_of(step: Step, loaded: Loaded, matrix: Matrix, C: Any) -> Launch:
    """All launches of the step for C = A B, with everything that can be prepared, prepared: the
    operands are stored as the step reads them. A workspace is lent to each call, so that many
    steps can have one in turns.

    `loaded` has its kernels by name; `matrix` gives A or B on the GPU, or the transpose of such a
    matrix."""
    A, B = (matrix(name, step.defines.get(f"TRANS_{name}", 0)) for name in "AB")
    (M, K), N = A.shape, B.shape[1]
    prepared = None if step.workspace(M, N, K) else step.values(A, B, C)
    launches = step.launches(M, N, K)

    def launch() -> None:
        values = step.values(A, B, C) if prepared is None else prepared
        for planned in launches:
            gpu.launch(loaded[planned.kernel], planned.grid, planned.block, values, planned.shared)

    return launch


def loaded_of(step: Step) -> Loaded:
    """The step's kernels on the GPU."""
    return {
        name: gpu.load(kernel.cubin(gpu.arch()), kernel.symbol)
        for name, kernel in step.kernels.items()
    }


def matrices(M: int, N: int, K: int) -> tuple[np.ndarray, np.ndarray, Matrix]:
    """Random A (M, K) and B (K, N), and a function that gives each on the GPU, as `launch_of` wants
    it: stored row by row, or column by column."""
    A, B, _ = inputs(M, N, K)

    @functools.cache
    def matrix(name: str, transposed: int) -> Any:
        host = {"A": A, "B": B}[name]
        return gpu.to_device(np.ascontiguousarray(host.T).T if transposed else host)

    return A, B, matrix


def require_product(C: np.ndarray, by_cublas: np.ndarray, A: np.ndarray, B: np.ndarray) -> None:
    """Raise CheckError unless C (M, N) is A B.

    Sixteen rows and columns are compared with float64; all elements with cuBLAS, which is
    right to the same bound, so that the two differ by at most twice that. There
    (|A| |B|)_ij is bounded by the product of the norms of row i and column j (Cauchy-Schwarz).
    """
    M, N = C.shape
    random = np.random.default_rng(0)
    rows = random.choice(M, min(M, 16), replace=False)
    columns = random.choice(N, min(N, 16), replace=False)
    assert_close(C[np.ix_(rows, columns)], A[rows], B[:, columns])
    bound = np.outer(
        2 * gamma(A.shape[1] + 2) * np.linalg.norm(A, axis=1), np.linalg.norm(B, axis=0)
    )
    wrong = ~(np.abs(C - by_cublas) <= bound)  # true for NaN too
    if wrong.any():
        i, j = (int(x) for x in np.argwhere(wrong)[0])
        raise CheckError(
            f"C[{i}, {j}] is {C[i, j]:.9g}, cuBLAS computes {by_cublas[i, j]:.9g}; "
            f"{wrong.sum()} of {wrong.size} elements are wrong"
        )
