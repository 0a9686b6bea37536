"""Step 23: its arithmetic in NumPy, bit by bit, however work is shared out and matrices lie."""

import numpy as np
import pytest
import test_warpgroups as warpgroups
from bf16 import PAIRS, by_fmas, parts, same

import kernels
from anywarp.ptx.arithmetic.tensor_core import tensor_core
from kernels.ladder.product.layout import laid_out

STEP = kernels.step("23_skinny").define(BM=64, BN=64)  # the smallest tile
BK, TILE, LEAST_K = (STEP.defines[name] for name in ("BK", "BM", "LEAST_K"))


def product(A, B, cuts=()):
    """Chains of BK, and their sum; or such sums of K cut there, added in order."""
    deep = -A.shape[1] % BK
    of_a = parts(np.pad(A, ((0, 0), (0, deep))))
    of_b = parts(np.pad(B, ((0, deep), (0, 0))))
    total = np.zeros((A.shape[0], B.shape[1]), np.float32)
    for first, end in zip((0, *cuts), (*cuts, A.shape[1])):
        sum = np.zeros_like(total)
        for k in range(first, end, BK):
            here, chain = slice(k, k + BK), np.zeros_like(total)
            for p, q in PAIRS:
                chain = tensor_core(of_a[p][:, here], of_b[q][here], chain, "bf16")
            sum = sum + chain
        total = total + sum
    return total


@pytest.mark.parametrize("shape", [(5, 7, LEAST_K), (70, 40, 100), (20, 30, 7 * BK)])
def test_bits_are_those_of_the_arithmetic(shape):
    """Of one block, which does steps of all tiles, more than it has stages."""
    A, B, _ = kernels.inputs(*shape)
    assert same(STEP.define(STREAM=1)(A, B, device="interpreter"), product(A, B))


LAID_OUT = {  # what does not change the bits
    STEP.define(STREAM=1): ({"BM": 128}, {"BN": 128}, {"STAGES": 2}),
    warpgroups.STEP: ({"BM": 64}, {"STAGES": 2}),
}


@pytest.mark.slow
@pytest.mark.parametrize("step, defines", [
    (step, defines) for step, some in LAID_OUT.items()
    for defines in ({"TRANS_A": 1}, {"TRANS_B": 1}, *some)
], ids=str)  # fmt: skip
def test_bits_do_not_depend_on_how_work_and_matrices_are_laid_out(step, defines):
    A, B, _ = kernels.inputs(70, 140, 100)
    C = step.define(**defines)(*laid_out(A, B, defines), device="interpreter")
    assert same(C, (product if step.id == STEP.id else warpgroups.product)(A, B))


@pytest.mark.parametrize("defines", [{}, {"TRANS_A": 1}, {"SWAP_AB": 1},
                                     {"SWAP_AB": 1, "TRANS_B": 1}], ids=str)  # fmt: skip
@pytest.mark.parametrize("more", [0, 3, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))])
def test_lines_of_the_large_factor_may_begin_anywhere(defines, more):
    """Of A, or of B."""
    A, B, _ = kernels.inputs(64 + more, 10, 64 + more)
    expected = product(A, B)
    if "SWAP_AB" in defines:
        A, B, expected = B.T.copy(), A.T.copy(), expected.T
    C = STEP.define(STREAM=1, **defines)(*laid_out(A, B, defines), device="interpreter")
    assert same(C, expected)


def test_slices_that_begin_anywhere_are_copied_number_by_number():
    A, B, _ = kernels.inputs(40, 30, 70)
    wide = np.zeros((40, 80), np.float32)
    for first in range(4):
        wide[:, first : first + 70] = A
        C = STEP.define(STREAM=1)(wide[:, first : first + 70], B, device="interpreter")
        assert same(C, product(A, B))


def test_blocks_have_stretches_that_differ_by_a_step_at_most():
    """Of 3 x 5 steps, four blocks have 4, 4, 4 and 3; parts of a tile are added in order."""
    A, B, _ = kernels.inputs(3 * TILE, 40, 5 * BK)
    cuts = [(4 * BK,), (3 * BK,), (2 * BK,)]  # steps 4, 8 and 12 of the line begin a block
    C = STEP.define(STREAM=4)(A, B, device="interpreter")
    for n, cut in enumerate(cuts):
        rows = slice(n * TILE, (n + 1) * TILE)
        assert same(C[rows], product(A[rows], B, cut))


@pytest.mark.slow
@pytest.mark.parametrize("stream", [2, 7])
def test_any_number_of_blocks_is_right(stream):
    step = STEP.define(STREAM=stream, STAGES=2)
    assert step.check("interpreter")
    assert step.sanitize(TILE + 3, TILE + 5, 3 * BK + 1) == ()


TWO_STEPS = pytest.mark.parametrize(
    "step, product", [(STEP, product), (warpgroups.STEP, warpgroups.product)], ids=["23", "21"]
)


@TWO_STEPS
def test_short_sums_are_fmas(step, product):
    A, B, _ = kernels.inputs(60, 70, step.defines["LEAST_K"] - 1)
    assert same(step(A, B, device="interpreter"), by_fmas(A, B))
    assert not same(product(A, B), by_fmas(A, B))


TINY = 2.0**-125 * (1 + 2.0**-20)


@pytest.mark.parametrize(
    "value",
    [-np.inf, -TINY, *(pytest.param(x, marks=pytest.mark.slow) for x in (np.nan, 3.4e38))],
    ids=str,
)
@pytest.mark.parametrize("in_b", [False, True], ids=["A", "B"])
def test_tiles_of_numbers_that_parts_do_not_hold_are_fmas(value, in_b):
    """Those of the row, or the column, wherever K is cut; others are as they were."""
    A, B, _ = kernels.inputs(TILE + 9, TILE + 7, 2 * BK)
    step = STEP.define(STREAM=3)
    expected = step(A, B, device="interpreter").copy()
    where = np.s_[:, TILE:] if in_b else np.s_[TILE:]
    if in_b:
        B[BK + 5, TILE + 3] = value
    else:
        A[TILE + 3, 5] = value
    C = step(A, B, device="interpreter")
    expected[where] = by_fmas(A, B)[where]
    finite = np.isfinite(expected)
    assert np.array_equal(np.isnan(C), np.isnan(expected))
    if value == -TINY:
        assert same(C, expected)
    else:  # where sums are not finite, only their eight columns are computed again
        assert np.allclose(C[finite], expected[finite], rtol=1e-5, atol=1e-5)


@TWO_STEPS
def test_parts_that_are_enough_are_used(step, product):
    """Of numbers as small as 2^-110, and of smaller ones with few bits."""
    A, B, _ = kernels.inputs(20, 30, 40)
    A[3, 5], A[4, 6] = 2.0**-110 * (1 + 2.0**-23), 2.0**-125
    step = step.define(STREAM=1) if "STREAM" in step.defines else step
    assert same(step(A, B, device="interpreter"), product(A, B))
