"""The step that does every shape: random sizes, sizes beside its tile's, and addresses."""

from __future__ import annotations

import numpy as np
import pytest

import kernels
from anywarp.ptx.memory.allocations import Lying
from kernels.analysis.reference import assert_close, inputs

STEP = kernels.step("15_any_shape")
RANDOM = np.random.RandomState(15)
SMALL = [tuple(map(int, RANDOM.randint(1, 68, 3))) for _ in range(40)]
BESIDE = [
    (127, 3, 5),
    (2, 127, 9),
    (128, 1, 7),
    (4, 128, 8),
    (129, 5, 1),
    (1, 129, 16),
    (255, 2, 3),
    (6, 255, 4),
    (257, 4, 15),
    (3, 257, 17),
    (127, 129, 6),
    (129, 127, 8),
    (128, 128, 1),
    (5, 3, 127),
    (4, 4, 128),
    (3, 7, 129),
    (2, 1, 257),
]


@pytest.mark.parametrize("M, N, K", SMALL + BESIDE)
def test_a_shape(M, N, K):
    alpha, beta = np.random.RandomState((M, N, K)).uniform(-2, 2, 2)
    A, B, C = inputs(M, N, K)
    if (M + N + K) % 4 == 0:
        beta, C[:] = 0, np.nan
    before = C.copy()
    STEP(A, B, C, alpha, beta, device="interpreter")
    assert_close(C, A, B, before, alpha, beta)


@pytest.mark.parametrize("M, N, K", [*SMALL[:4], *BESIDE[:12], (131, 133, 19), (132, 260, 12)])
def test_nothing_is_found_in_a_shape(M, N, K):
    assert STEP.sanitize(M, N, K) == ()


@pytest.mark.parametrize("offsets", [(1, 0, 0), (0, 2, 0), (0, 0, 3), (1, 2, 3), (4, 8, 12)])
def test_matrices_may_start_at_any_element(offsets):
    M, N, K = 132, 136, 12  # rows of whole float4
    A, B, C = inputs(M, N, K)
    moved = [
        np.concatenate([np.full(n, np.nan, np.float32), x.ravel()]).view(Lying)[n:]
        for n, x in zip(offsets, (A, B, C))
    ]
    args = (M, N, K, 1.5, moved[0], moved[1], -0.5, moved[2])
    assert STEP.kernel.sanitize(STEP.grid(M, N), STEP.block, args) == ()
    assert_close(np.asarray(moved[2]).reshape(M, N), A, B, C, 1.5, -0.5)


@pytest.mark.parametrize("shape", [(128, 128, 9), (129, 131, 10), (255, 257, 7)])
def test_shifted_tiles_are_right_as_long_as_beta_is_0(shape):
    shifted = STEP.define(SHIFTED=1)
    A, B, _ = inputs(*shape)
    assert_close(shifted(A, B, device="interpreter"), A, B)
    with pytest.raises(ValueError, match="M >= BM and N >= BN"):
        shifted(A[:127], B, device="interpreter")
