"""Step 21: its arithmetic in NumPy, bit by bit, and what it does where parts are not enough."""

import numpy as np
import pytest
from bf16 import PAIRS, by_fmas, parts, same

import kernels
from anywarp.ptx.arithmetic.tensor_core import tensor_core

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
    [-np.inf, TINY, *(pytest.param(x, marks=pytest.mark.slow) for x in (np.nan, 3.4e38))],
    ids=str,
)
def test_tiles_of_numbers_that_parts_do_not_hold_are_fmas(whole, value):
    """In A in the first half of K, in B in the second."""
    step, A, B, expected = whole
    A, B, expected = A.copy(), B.copy(), expected.copy()
    A[TILE + 3, 5] = value
    again = by_fmas(A, B)
    expected[TILE:] = again[TILE:]
    assert same(step(A, B, device="interpreter"), expected)
    if value == TINY:
        B[BK + 4, 2] = value
        again = by_fmas(A, B)
        expected[:, :TILE] = again[:, :TILE]
        assert same(step(A, B, device="interpreter"), expected)


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
