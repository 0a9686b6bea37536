"""Step 18: K shared out in every way gives the product, the same bits every time."""

import numpy as np
import pytest

import kernels
from kernels.analysis.reference import assert_close, inputs
from kernels.ladder.product.layout import laid_out

SMALL = kernels.step("18_split_k BM=32 BN=32 BK=16 STAGES=3 TM=4 TN=4 BLOCKS=1 WM=16 WN=32")
WAYS = (
    {},
    {"SPLITS": 2},
    {"SPLITS": 7},
    {"SPLITS": 2, "CLUSTER": 1},
    {"SPLITS": 8, "CLUSTER": 1},
    {"SLICES": 4},
    {"SLICES": 2, "SPLITS": 3, "CLUSTER": 1},
    {"SLICES": 2, "SPLITS": 3},
    {"STREAM": 1},
    {"STREAM": 5},
    {"STREAM": 23, "SLICES": 2},
)
names = [" ".join(f"{key}={value}" for key, value in one.items()) or "whole" for one in WAYS]
each = pytest.mark.parametrize("way", WAYS, ids=names)


@each
@pytest.mark.parametrize("M, N, K", [
    pytest.param(40, 70, 150, marks=pytest.mark.slow),  # parts of different lengths, unaligned C
    (33, 64, 33),  # fewer steps than splits
    pytest.param(96, 100, 64, marks=pytest.mark.slow),  # aligned, not whole
])  # fmt: skip
def test_every_way_gives_the_product(way, M, N, K):
    A, B, C = inputs(M, N, K)
    before = C.copy()
    assert_close(SMALL.define(**way)(A, B, C, 1.5, -0.5, device="interpreter"), A, B, before,
                 1.5, -0.5)  # fmt: skip


@each
def test_alpha_0_scales_c(way):
    A, B, C = inputs(40, 36, 50)
    before = C.copy()
    SMALL.define(**way)(np.full_like(A, np.nan), B, C, 0, 2, device="interpreter")
    assert np.array_equal(C, 2 * before)


@each
def test_no_findings(way):
    assert SMALL.define(**way).sanitize(40, 35, 70) == ()


@pytest.mark.parametrize("way", [{"SPLITS": 3}, {"SPLITS": 4, "CLUSTER": 1}, {"STREAM": 5}])
def test_the_same_bits_whatever_the_workspace_held(way, monkeypatch):
    from kernels.ladder import running

    one, (A, B, _) = SMALL.define(**way), inputs(70, 45, 130)
    first = one(A, B, device="interpreter").view("u4")
    monkeypatch.setattr(running, "poisoned", lambda size: np.full(-(-size // 4), 7, np.float32))
    assert np.array_equal(one(A, B, device="interpreter").view("u4"), first)


def test_splits_of_a_tile_are_summed_in_the_order_of_k():
    """Two splits: the sum of the two products, each with half of the steps."""
    A, B, _ = inputs(32, 32, 128)
    C = SMALL.define(SPLITS=2)(A, B, device="interpreter")
    halves = [SMALL(A[:, k].copy(), B[k].copy(), device="interpreter")
              for k in (slice(64), slice(64, 128))]  # fmt: skip
    assert np.array_equal(C, halves[0] + halves[1])
    in_cluster = SMALL.define(SPLITS=2, CLUSTER=1)(A, B, device="interpreter")
    assert np.array_equal(C, in_cluster)


@each
def test_a_part_that_overflows_spoils_no_finite_sum(way):
    """What is finite in one chain of k is finite however K is shared out and matrices stored."""
    transposed = ({}, {"TRANS_A": 1}, {"TRANS_B": 1})[WAYS.index(way) % 3]
    A, B, _ = inputs(40, 40, 66)
    A *= np.where(np.random.default_rng(3).random(A.shape) < 0.5, 1e38, 1e-38).astype("f4")
    chain = kernels.step("03")(A, B, device="interpreter")
    C = SMALL.define(**way, **transposed)(*laid_out(A, B, transposed), device="interpreter")
    finite = np.isfinite(chain)
    assert 100 < finite.sum() < finite.size and np.isfinite(C[finite]).all()


def test_workspace_and_launches():
    tiles = 2 * 3  # of 40 x 70
    assert SMALL.workspace(40, 70, 100) == 0
    assert SMALL.define(SPLITS=3).workspace(40, 70, 100) == 4 * 3 * tiles * 32 * 32
    assert SMALL.define(SPLITS=3, CLUSTER=1).workspace(40, 70, 100) == 0
    assert SMALL.define(STREAM=5).workspace(40, 70, 100) == 4 * 2 * 5 * 32 * 32

    def launched(**way):
        return [(x.kernel, x.grid) for x in SMALL.define(**way).launches(40, 70, 100)]

    assert launched() == [("sgemm", (tiles,))]
    assert launched(SPLITS=4, CLUSTER=1) == [("sgemm", (4 * tiles,))]
    assert launched(SPLITS=4) == [("sgemm", (4 * tiles,)), ("reduce", (tiles, 4))]
    assert launched(STREAM=5) == [("sgemm", (5,)), ("reduce", (tiles, 4))]


@pytest.mark.parametrize("label", [
    "18 SPLITS=0", "18 SPLITS=9 CLUSTER=1", "18 CLUSTER=1", "18 SPLITS=2 STREAM=8", "18 SLICES=3",
    "18 SLICES=8", "18 STREAM=-1",
])  # fmt: skip
def test_what_cannot_be_is_refused_in_words(label):
    with pytest.raises(kernels.CompileError, match='static assertion failed with "[a-z]'):
        kernels.step(label).kernel  # noqa: B018
