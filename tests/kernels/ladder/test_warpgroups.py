"""Step 21: its arithmetic in NumPy, bit by bit, and what it does where parts are not enough."""

import numpy as np
import pytest
from bf16 import PAIRS, by_fmas, parts, same

import kernels
from anywarp.ptx.arithmetic.tensor_core import tensor_core
from kernels.analysis.reference import compare
from kernels.measure import accuracy

STEP = kernels.step("21_warpgroups")
BK, TILE, LEAST_K = (STEP.defines[name] for name in ("BK", "BM", "LEAST_K"))
RUN = 16  # chains in a sum


def product(A, B, exact=False):
    """Chains of BK. RUN of them are a sum, and sums are the total; or, exactly, each begins with
    what the addition of the last one lost."""
    deep = -A.shape[1] % BK
    of_a = parts(np.pad(A, ((0, 0), (0, deep))))
    of_b = parts(np.pad(B, ((0, deep), (0, 0))))
    nothing = np.zeros((A.shape[0], B.shape[1]), np.float32)
    total = sum = chain = nothing
    for n, k in enumerate(range(0, A.shape[1], BK), start=1):
        here = slice(k, k + BK)
        chain = chain if exact else nothing
        for p, q in PAIRS:
            chain = tensor_core(of_a[p][:, here], of_b[q][here], chain, "bf16")
        added = sum + chain
        chain, sum = chain - (added - sum), added
        if not exact and n % RUN == 0:
            total, sum = total + sum, nothing
    return sum + total


@pytest.mark.parametrize("shape", [(5, 7, LEAST_K), (70, 140, 100), (20, 30, (RUN + 2) * BK)])
@pytest.mark.parametrize("exact", [0, 1], ids="EXACT={}".format)
def test_bits_are_those_of_the_arithmetic(shape, exact):
    A, B, _ = kernels.inputs(*shape)
    C = STEP.define(EXACT=exact)(A, B, device="interpreter")
    assert same(C, product(A, B, exact))


def test_two_blocks_add_the_products_of_halves_of_k():
    A, B, _ = kernels.inputs(40, 50, 5 * BK)
    first = 2 * BK  # of five tiles along K
    expected = product(A[:, :first], B[:first]) + product(A[:, first:], B[first:])
    assert same(STEP.define(SPLITS=2)(A, B, device="interpreter"), expected)


@pytest.fixture(scope="module", params=[1, 2], ids="SPLITS={}".format)
def whole(request):
    """A step, A, B, and C, of two by two tiles of C and two along K."""
    step = STEP.define(SPLITS=request.param)
    A, B, _ = kernels.inputs(TILE + 9, TILE + 7, 2 * BK)
    return step, A, B, step(A, B, device="interpreter")


TINY = 2.0**-125 * (1 + 2.0**-20)


@pytest.mark.parametrize(
    "value",
    [-np.inf, *(pytest.param(x, marks=pytest.mark.slow) for x in (np.nan, 3.4e38))],
    ids=str,
)
def test_a_row_with_a_number_that_has_no_parts_is_fmas(whole, value):
    step, A, B, expected = whole
    A, expected = A.copy(), expected.copy()
    A[TILE + 3, 5] = value
    expected[TILE + 3] = by_fmas(A, B)[TILE + 3]
    assert same(step(A, B, device="interpreter"), expected)


def test_what_parts_leave_of_tiny_numbers_matters_to_small_sums_alone(whole):
    """Those of a row, in both tiles; of a column, which marks all rows of its tiles."""
    step, A, B, _ = whole
    A, B = A.copy(), B.copy()
    A[TILE + 3, 5], A[7, BK + 1], B[6, TILE + 2] = TINY, 0, TINY
    expected = step(np.where(A == TINY, 0, A), np.where(B == TINY, 0, B), device="interpreter")
    assert same(step(A, B, device="interpreter"), expected)
    A[TILE + 3] *= np.float32(2.0**-110)
    expected[TILE + 3] = by_fmas(A, B)[TILE + 3]
    assert same(step(A, B, device="interpreter"), expected)
    B[:, TILE + 2] *= np.float32(2.0**-110)
    expected[:, TILE:] = by_fmas(A, B)[:, TILE:]
    assert same(step(A, B, device="interpreter"), expected)


BY_ROW, BY_COLUMN = "of_row[i / 2 % 2].least * of_col.most", "of_col.least * of_row[i / 2 % 2].most"


@pytest.mark.parametrize(
    "old, new",
    [
        (BY_ROW, "0"),
        (BY_COLUMN, "0"),
        (BY_ROW, BY_ROW.replace("most", "least")),
        ("? 0x1p64f : 1", "? 1 : 1"),
        ("rows[min(first + i % AGAIN, n - 1)]", "rows[0]"),
        ("start += THREADS / 32 * BLOCK", "start += THREADS / 16 * BLOCK"),
        ("load(start + THREADS / 32 * BLOCK);", ""),
    ],
)
def test_without_a_part_of_the_guard_it_would_be_wrong(old, new):
    """Tiny numbers in a row, or a column, one that meets vast ones, and one without parts."""
    A, B = accuracy.matrices("uniform", 40, 50, 1100)
    A[3] *= np.float32(2.0**-130)
    A[5] = A[:, 6] = 0
    A[5, 6] = 2.0**-125 * (1 + 0.9 * 2.0**-9)
    B[6] *= np.float32(2.0**120)
    assert STEP.source.count(old) == 1
    bare = STEP.edit(source=STEP.source.replace(old, new))
    for one in STEP, bare:
        both = [[A.copy(), B], [np.ascontiguousarray(x.T) for x in (B, A)]]
        both[0][0][17, 1000] = 3.4e38
        found = [compare(one(*pair, device="interpreter"), *pair).ok for pair in both]
        assert all(found) == (one is STEP)


@pytest.mark.parametrize("splits", [1, 2])
def test_sums_that_overflow_on_the_way_are_computed_again(splits):
    """Parts are rounded: theirs is 2^64 + 2^57, and the products of two exceed the sum by then."""
    large = 2.0**64
    A, B = np.zeros((3, 40), np.float32), np.zeros((40, 4), np.float32)
    A[1, 0], B[0, 2] = 0.75 * large, large
    A[1, 1], B[1, 2] = 0.248 * large, large
    A[1, 16], B[16, 2] = -(1 + 2**-8 + 2**-12) * large / 2, (1 + 2**-8 + 2**-12) * large
    with np.errstate(all="ignore"):
        assert not np.isfinite(product(A, B)).all()
    C = STEP.define(SPLITS=splits)(A, B, device="interpreter")
    assert np.isfinite(C).all() and same(C, by_fmas(A, B))


@pytest.mark.slow
def test_exact_errors_do_not_grow_with_k():
    """In roundoffs of the sum of absolute values: FMAs in a row lose more and more."""
    stream = np.random.default_rng(0)
    steps = {"EXACT": STEP.define(EXACT=1), "step": STEP}
    errors = {}
    for K in (64, 1024):
        A, B = (stream.uniform(0, 1, shape).astype(np.float32) for shape in ((16, K), (K, 16)))
        exact = A.astype(np.float64) @ B.astype(np.float64)
        results = {name: one(A, B, device="interpreter") for name, one in steps.items()}
        for name, C in (*results.items(), ("FMAs", by_fmas(A, B))):
            errors[name, K] = (abs(C - exact) / exact).max() * 2**24
    assert errors["EXACT", 1024] < 3
    assert errors["EXACT", 1024] < errors["step", 1024] < errors["FMAs", 1024] / 3
    assert errors["step", 64] < errors["FMAs", 64]
