"""kernels.measure.product: what it takes for a right product. Its launches: tests/ladder."""

import numpy as np
import pytest

from kernels.analysis.reference import CheckError, gamma, inputs
from kernels.measure import product
from kernels.measure.product import require_product


def test_sixteen_rows_and_columns_from_everywhere_are_compared_with_float64(monkeypatch):
    seen = []
    monkeypatch.setattr(product, "assert_close", lambda *parts: seen.append(parts))
    for M, N, K in ((200, 150, 7), (5, 40, 3)):
        A, B, _ = inputs(M, N, K)
        require_product(A @ B, A @ B, A, B)
        C, rows, columns = seen.pop()
        of_row = [int(np.flatnonzero((A == row).all(1))[0]) for row in rows]
        of_column = [int(np.flatnonzero((B.T == column).all(1))[0]) for column in columns.T]
        assert len(set(of_row)) == min(M, 16) and len(set(of_column)) == min(N, 16)
        np.testing.assert_array_equal(C, (A @ B)[np.ix_(of_row, of_column)])
        assert max(of_row) >= M // 2 and max(of_column) >= N // 2
        assert min(of_row) < M // 2 and min(of_column) < N // 2


def test_what_differs_from_cublas_by_more_than_the_bound_is_wrong():
    A, B, _ = inputs(64, 48, 33)
    C = A @ B
    bound = 2 * gamma(35) * np.linalg.norm(A[40]) * np.linalg.norm(B[:, 21])
    C[40, 21] += 0.9 * bound
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(product, "assert_close", lambda *parts: None)
        require_product(C, A @ B, A, B)
        C[40, 21] += 0.3 * bound
        with pytest.raises(CheckError, match=r"C\[40, 21\] is .*; 1 of 3072 elements are wrong"):
            require_product(C, A @ B, A, B)


def test_the_check_allows_another_order_of_summation():
    A, B, _ = inputs(100, 90, 300)
    backwards = np.ascontiguousarray(A[:, ::-1]) @ np.ascontiguousarray(B[::-1])
    assert (backwards != A @ B).any()
    require_product(backwards, A @ B, A, B)
