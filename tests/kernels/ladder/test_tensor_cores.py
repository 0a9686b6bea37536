"""Step 20 where parts cannot hold a number: as FMAs have it, there and nowhere else."""

import numpy as np
import pytest
from slow import if_slow

import kernels
from kernels import metrics
from kernels.analysis import splitting
from kernels.analysis.reference import compare
from kernels.measure import accuracy

SMALL = {"BM": 64, "BN": 64, "WM": 32, "WN": 32}
STEP = kernels.step("20").define(**SMALL)
KINDS = {"BF16": STEP, "TF32": STEP.define(KIND=1, PARTS=2), "FP16": STEP.define(KIND=2, PARTS=2)}
SHAPE = 70, 75, 40
RARE = {  # numbers that the parts of none, or not of all kinds, hold
    "infinity": np.inf,
    "NaN": np.nan,
    "rounds to infinity": 3.4027e38,
    "tiny": 2.0**-126 * (1 + 2.0**-12 + 2.0**-14),
    "subnormal": 1e-42,
}


def same(x, y):
    return np.array_equal(x.view(np.uint32), y.view(np.uint32))


def multiply(one, A, B):
    return one(A, B, device="interpreter")


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=if_slow(kind != "BF16")) for kind in KINDS]
)
@pytest.mark.parametrize("rare", RARE)
def test_rows_and_columns_with_a_rare_number_are_those_of_fmas(kind, rare):
    A, B = accuracy.matrices("uniform", *SHAPE)
    plain = multiply(KINDS[kind], A, B)
    A[5, 7], B[9, 66] = RARE[rare], -RARE[rare]
    found, fmas = multiply(KINDS[kind], A, B), splitting.chain(A, B)
    assert same(found[5], fmas[5]) and same(found[:, 66], fmas[:, 66])
    others = np.ones_like(found, bool)
    others[5], others[:, 66] = False, False
    if kind != "FP16":  # whose tiles have other scales now
        assert same(found[others], plain[others])
    assert not same(plain[5], splitting.chain(*accuracy.matrices("uniform", *SHAPE))[5])


@pytest.mark.parametrize("kind", KINDS)
def test_a_sum_beyond_float32_is_infinite_only_where_that_of_fmas_is(kind):
    """Parts are rounded up, so that their products may pass the largest float32 on the way."""
    A, B = accuracy.matrices("uniform", *SHAPE)
    A[:, 0], B[0, :] = 2.0**64, 2.0**64 * (1 - 2.0**-24)  # its product is just finite
    A[:, 1:] = 0
    found, fmas = multiply(KINDS[kind], A, B), splitting.chain(A, B)
    assert np.isfinite(fmas).all() and same(found, fmas)
    B[0, :40] = 2.0**65
    assert np.isinf(multiply(KINDS[kind], A, B)[:, :40]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_very_different_sizes_stay_within_the_bound(kind):
    A, B = accuracy.matrices("uniform", *SHAPE)
    A[::3] *= np.float32(2.0**-100)
    B[:, ::2] *= np.float32(2.0**40)
    A[1, ::2] *= np.float32(2.0**30)
    assert compare(multiply(KINDS[kind], A, B), A, B).ok


def test_numbers_that_parts_hold_are_not_multiplied_by_fmas():
    """But for one of each sum, which tells whether it is finite."""
    counters = STEP.trace(64, 64, 48).counters
    assert counters[metrics.FFMA] <= 64 * 64


def test_short_sums_and_none_at_all():
    for K in (0, 1, splitting.LEAST_K - 1):
        A, B = accuracy.matrices("wide", 20, 30, K)
        assert same(multiply(STEP, A, B), splitting.chain(A, B))
        assert not STEP.launches(20, 30, K)[0].kernel == "pack"


@pytest.mark.slow
@pytest.mark.parametrize("old, new", [
    ("thread; marked(BM + j)", "thread; marked(BM + i)"),            # a column's mark
    ("atomicOr(&unsafe[row(e) / 32]", "atomicOr(&unsafe[0]"),        # of a row of the tile
    ("tile[n] - tile[n] != 0", "false"),  # sums that overflow
    ("unsafe[bit / 32] >> bit % 32", "unsafe[bit / 32] >> bit % 16"),
    ("<= most[i]", "<= most[i] + 1"),
])  # fmt: skip
def test_a_fault_in_it_is_noticed(old, new):
    assert STEP.source.count(old) == 1
    mutant = STEP.edit(source=STEP.source.replace(old, new))
    A, B = accuracy.matrices(accuracy.SPOILT_KIND, *SHAPE)
    A[40, 0], A[30], B[3] = RARE["tiny"], 2.0**127, 1.5
    assert same(multiply(STEP, A, B), splitting.product(A, B))
    assert not same(multiply(mutant, A, B), splitting.product(A, B))
