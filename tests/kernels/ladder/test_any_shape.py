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
BESIDE = """
    127x3x5 2x127x9 128x1x7 4x128x8 129x5x1 1x129x16 255x2x3 6x255x4 257x4x15 3x257x17 127x129x6
    129x127x8 128x128x1 5x3x127 4x4x128 3x7x129 2x1x257
""".split()
BESIDE = [tuple(map(int, shape.split("x"))) for shape in BESIDE]


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


@pytest.mark.parametrize("label, M, N, offsets", [
    *(("15", 132, 136, offsets)  # rows of whole float4
      for offsets in ((1, 0, 0), (0, 2, 0), (0, 0, 3), (1, 2, 3), (4, 8, 12))),
    *(("17", 128, 256, offsets) for offsets in ((0, 1, 0), (0, 0, 2), (3, 4, 8))),  # a whole tile
])  # fmt: skip
def test_matrices_may_start_at_any_element(label, M, N, offsets):
    step, K = kernels.step(label), 12
    A, B, C = inputs(M, N, K)
    moved = [
        np.concatenate([np.full(n, np.nan, np.float32), x.ravel()]).view(Lying)[n:]
        for n, x in zip(offsets, (A, B, C))
    ]
    pitches = (K, N, N) if step.arguments else ()
    args = (M, N, K, 1.5, moved[0], moved[1], -0.5, moved[2], *pitches)
    (launch,) = step.launches(M, N, K)
    assert step.kernel.sanitize(launch.grid, launch.block, args, shared_mem=launch.shared) == ()
    assert_close(np.asarray(moved[2]).reshape(M, N), A, B, C, 1.5, -0.5)


@pytest.mark.parametrize("shape", [(128, 128, 9), (129, 131, 10), (255, 257, 7)])
def test_shifted_tiles_are_right_as_long_as_beta_is_0(shape):
    shifted = STEP.define(SHIFTED=1)
    A, B, _ = inputs(*shape)
    assert_close(shifted(A, B, device="interpreter"), A, B)
    with pytest.raises(ValueError, match="M >= BM and N >= BN"):
        shifted(A[:127], B, device="interpreter")
