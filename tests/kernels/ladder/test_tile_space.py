"""Step 17: any shape, storage and alignment, each tile of its space, and the order of blocks."""

from __future__ import annotations

import numpy as np
import pytest
from slow import if_slow

import kernels
from kernels.analysis.reference import assert_close, inputs

STEP = kernels.step("17_tile_space")
TILED = kernels.step("17 BM=32 BN=64 STAGES=4 TM=4 TN=4 WM=16 WN=32")  # for shapes of a few tiles
EARLIER = kernels.step("15_any_shape")
RANDOM = np.random.RandomState(17)
SMALL = [tuple(map(int, RANDOM.randint(1, 70, 3))) for _ in range(6)]
BESIDE = [(127, 255, 7), (129, 257, 9), (128, 4, 8), (4, 256, 31), (131, 260, 12), (1, 259, 33)]
STORED = [(0, 0), (0, 1), (1, 0), (1, 1)]
SPACE = [
    "17 BM=32 BN=64 BK=16 STAGES=2 TM=4 TN=4 WM=16 WN=32",
    "17 BM=64 BN=64 BK=16 STAGES=3 TM=4 TN=4 WM=32 WN=16",
    "17 BM=64 BN=64 TM=8 TN=8 WM=32 WN=64 BLOCKS=4",
    "17 BM=64 BN=128 STAGES=5 TM=8 TN=8 WM=32 WN=64 BLOCKS=2",
    "17 BM=128 BN=128 BK=16 STAGES=2 TM=8 TN=8 WM=64 WN=32 BLOCKS=2",
    "17 BM=256 BN=128 STAGES=3 TM=16 TN=8",
]


def named(x):
    return str(getattr(x, "label", x))


def stored(x, transposed, beyond):
    """The same matrix as a view: stored by columns, with so many elements between two lines."""
    lines = x.T if transposed else x
    wide = np.full((lines.shape[0], lines.shape[1] + beyond), np.nan, np.float32)
    view = wide[:, : lines.shape[1]]
    view[:] = lines
    return view.T if transposed else view


@pytest.mark.parametrize(
    "step, M, N, K",
    [
        *((TILED, *shape) for shape in SMALL),
        *(pytest.param(STEP, *shape, marks=pytest.mark.slow) for shape in BESIDE),
    ],
    ids=named,
)
def test_a_shape_however_it_is_stored(step, M, N, K):
    random = np.random.RandomState((M, N, K))
    A, B, C = inputs(M, N, K)
    for n, (a, b) in enumerate(STORED):
        alpha, beta = random.uniform(-2, 2, 2)
        beyond = random.choice([0, 1, 4], 3)
        mine = stored(np.full_like(C, np.nan) if n == 0 else C, False, beyond[2])
        beta = 0 if n == 0 else beta
        step(stored(A, a, beyond[0]), stored(B, b, beyond[1]), mine, alpha, beta,
             device="interpreter")  # fmt: skip
        assert_close(mine, A, B, C, alpha, beta)


@pytest.mark.parametrize("a, b", STORED)
@pytest.mark.parametrize("step, M, N, K", [
    *((TILED, *shape) for shape in (*SMALL[:2], (31, 63, 7), (33, 65, 9), (64, 64, 40))),
    pytest.param(STEP, *BESIDE[1], marks=pytest.mark.slow),
], ids=named)  # fmt: skip
def test_nothing_is_found(step, M, N, K, a, b):
    assert step.define(TRANS_A=a, TRANS_B=b).sanitize(M, N, K) == ()


@pytest.mark.parametrize(
    "label", [pytest.param(label, marks=if_slow(n > 0)) for n, label in enumerate(SPACE)]
)
def test_every_tile_gives_the_bits_of_step_15(label):
    step = kernels.step(label)
    for M, N, K in (131, 133, 37), (64, 260, 16):
        A, B, C = inputs(M, N, K)
        wanted = EARLIER(A, B, C.copy(), 1.5, -0.25, device="interpreter")
        found = step(A, B, C.copy(), 1.5, -0.25, device="interpreter")
        assert np.array_equal(found.view("u4"), wanted.view("u4"))
    assert step.sanitize(65, 131, 35) == ()
