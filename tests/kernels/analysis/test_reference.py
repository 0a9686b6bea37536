"""The float64 reference and the error bound: what must pass does, what must not does not."""

import hashlib

import numpy as np
import pytest

from kernels.analysis import reference
from kernels.analysis.reference import (
    CheckError,
    assert_close,
    compare,
    error_bound,
    gamma,
    gemm64,
    inputs,
)

SHAPES = [(1, 1, 1), (7, 5, 3), (64, 48, 200), (3, 4, 0)]


def test_inputs_are_float32_in_range_and_frozen():
    A, B, C = inputs(5, 7, 300)
    assert (A.shape, B.shape, C.shape) == ((5, 300), (300, 7), (5, 7))
    for x in (A, B, C):
        assert x.dtype == np.float32 and x.flags.c_contiguous
        assert x.min() >= -1 and x.max() < 1
    assert A.std() == pytest.approx(3**-0.5, rel=0.05)
    # recorded checksums of results rely on these bytes
    data = b"".join(x.tobytes() for x in (A, B, C))
    assert hashlib.sha256(data).hexdigest() == (
        "410fdc09cdcf5e7c89b2c08bab8b390521145e47f19cfc4501c6f76cd1442a2a"
    )


def test_seeds_differ():
    assert (inputs(4, 4, 4, seed=1)[0] != inputs(4, 4, 4, seed=2)[0]).any()


def exact(A, B, C, alpha, beta):
    """The same in Python's integers, scaled: inputs are multiples of 2**-24."""
    scale = 2**24
    a, b, c = ([[int(v * scale) for v in row] for row in x.tolist()] for x in (A, B, C))
    alpha, beta = (int(np.float32(v) * scale) for v in (alpha, beta))
    M, N, K = len(a), len(b[0]) if b else C.shape[1], A.shape[1]
    return [
        [
            alpha * sum(a[i][k] * b[k][j] for k in range(K)) + beta * c[i][j] * scale
            for j in range(N)
        ]
        for i in range(M)
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_gemm64_equals_exact_integer_arithmetic(shape):
    A, B, C = inputs(*shape)
    expected = np.array(exact(A, B, C, 1.5, -0.25), dtype=object) / 2**72
    np.testing.assert_allclose(gemm64(A, B, C, 1.5, -0.25), expected.astype(float), rtol=1e-12)


def test_gemm64_reads_only_what_it_needs():
    A, B, C = inputs(3, 4, 5)
    nan = np.full_like(C, np.nan)
    assert (gemm64(A, B, nan, 1, 0) == gemm64(A, B)).all()
    assert (gemm64(A * np.nan, B, C, 0, 2) == 2.0 * C).all()
    assert error_bound(A * np.nan, B, nan, 0, 0).max() == 0


def test_scalars_are_rounded_to_float32_as_a_kernel_gets_them():
    A, B, C = inputs(3, 4, 5)
    assert (gemm64(A, B, C, 0.1, 0) == gemm64(A, B, C, float(np.float32(0.1)), 0)).all()


def test_gamma():
    assert gamma(1, 0.25) == pytest.approx(1 / 3)
    assert gamma(10) == pytest.approx(10 * 2**-24, rel=1e-5)
    with pytest.raises(ValueError, match="no bound"):
        gamma(2**24)


def test_bound_by_hand():
    A, B, C = (np.float32([[x]]) for x in (-2, 3, -5))
    assert error_bound(A, B, C, -1, 7)[0, 0] == pytest.approx((6 + 35) * gamma(3))


@pytest.mark.parametrize("shape", [*SHAPES, (128, 128, 512), (1, 1, 5000)])
@pytest.mark.parametrize("alpha, beta", [(1, 0), (1.7, -0.3)])
def test_float32_results_of_numpy_pass(shape, alpha, beta):
    A, B, C = inputs(*shape)
    result = np.float32(alpha) * (A @ B) + np.float32(beta) * C
    assert_close(result, A, B, C, alpha, beta)


def test_float32_sum_in_order_passes():
    A, B, _ = inputs(8, 8, 3000)
    C = np.zeros((8, 8), np.float32)
    for k in range(3000):
        C += np.outer(A[:, k], B[k])
    assert 0 < assert_close(C, A, B).worst_ratio < 1


@pytest.fixture
def problem():
    A, B, C0 = inputs(20, 30, 40)
    C = A @ B
    assert_close(C, A, B, C0)
    return C, A, B, C0


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 0, 1000])
def test_one_wrong_element_is_found_and_named(problem, value):
    C, A, B, C0 = problem
    C[3, 17] = value
    result = compare(C, A, B, C0)
    assert not result.ok and result.where == (3, 17) and result.wrong == 1
    assert result.worst_ratio > 1
    with pytest.raises(CheckError, match=r"C\[3, 17\] is .*expected .*1 of 600 elements"):
        assert_close(C, A, B, C0)


def test_an_error_just_outside_the_bound_is_found(problem):
    C, A, B, C0 = problem
    expected, bound = gemm64(A, B), error_bound(A, B)
    assert compare(expected + 0.99 * bound, A, B).ok
    wrong = expected.copy()
    wrong[7, 8] += 1.01 * bound[7, 8]
    result = compare(wrong, A, B)
    assert result.where == (7, 8) and result.worst_ratio == pytest.approx(1.01)


def test_unwritten_elements_are_found(problem):
    _, A, B, _ = problem
    C = np.full((20, 30), np.nan, np.float32)
    C[:, :29] = (A @ B)[:, :29]
    result = compare(C, A, B)
    assert result.wrong == 20 and result.where[1] == 29
    # with beta != 0 there is no NaN to see: C keeps its old value
    C0 = inputs(20, 30, 40)[2]
    assert not compare(C0, A, B, C0, 1, 0.5).ok


def test_swapped_and_transposed_results_are_found(problem):
    _, A, B, _ = problem
    square = A @ B[:, :20]
    assert not compare(square.T, A, B[:, :20]).ok
    assert not compare((A @ B)[::-1], A, B).ok


def test_nan_never_passes_even_where_it_is_expected(problem):
    C, A, B, C0 = problem
    A[0, 0] = np.nan
    C[0] = np.nan
    assert compare(C, A, B).wrong == 30


def test_zero_bound_accepts_only_the_exact_value():
    A, B, C = inputs(4, 5, 0)
    assert compare(np.zeros((4, 5), np.float32), A, B).worst_ratio == 0
    assert compare(np.full((4, 5), 1e-30, np.float32), A, B).wrong == 20


def test_empty_and_misshapen_results():
    A, B, _ = inputs(0, 5, 3)
    assert compare(np.empty((0, 5), np.float32), A, B).ok
    A, B, _ = inputs(4, 5, 3)
    with pytest.raises(CheckError, match=r"shape \(5, 4\), expected \(4, 5\)"):
        compare((A @ B).T, A, B)


def test_a_coarser_roundoff_gives_a_wider_bound():
    assert reference.gamma(64) < reference.gamma(64, u=2**-11) / 8000
    assert reference.FLOAT32_ROUNDOFF == np.finfo(np.float32).eps / 2
