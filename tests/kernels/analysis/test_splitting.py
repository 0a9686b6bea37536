"""kernels.analysis.splitting: the parts of float32 numbers, step 20's arithmetic bit by bit."""

import numpy as np
import pytest
from slow import if_slow

import kernels
from kernels.analysis import splitting
from kernels.measure import accuracy

STREAM = np.random.RandomState(7)
SHIFT = {"BF16": 16, "TF32": 13}  # low bits of a float32 that its parts have not
STEPS = {  # a step and what of the model is its arithmetic
    "20": {},
    "20 FOLD=32": {"fold": 32},
    "20 ALL=1": {"every": True},
    "20 CHAIN=0 FOLD=0": {"length": None, "fold": None},
    "20 KIND=1 PARTS=2 FOLD=0": {"kind": "TF32", "fold": None},
    "20 BK=32 KIND=2 PARTS=2 CHAIN=32 FOLD=0": {
        "kind": "FP16", "length": 32, "fold": None, "depth": 32,
    },
}  # fmt: skip
INPUTS = (*accuracy.STUDIED, accuracy.SPOILT_KIND)


def numbers(least, most, count=2000):
    """float32 numbers of all exponents in a range, with all their bits."""
    exponents = STREAM.randint(least, most + 1, (20, count // 20))
    signs = STREAM.choice([-1.0, 1.0], exponents.shape)
    return (signs * STREAM.uniform(1, 2, exponents.shape) * np.exp2(exponents)).astype(np.float32)


@pytest.mark.parametrize("kind", SHIFT)
def test_parts_have_few_bits_and_add_up(kind):
    x = numbers(-110, 126)
    parts, left = splitting.split(x, kind, splitting.KINDS[kind].parts)
    for part in parts:
        assert not (part.view(np.uint32) & np.uint32((1 << SHIFT[kind]) - 1)).any()
    assert (np.abs(left) <= splitting.KINDS[kind].lost * np.abs(x)).all()
    assert np.array_equal(sum(part.astype(np.float64) for part in [*parts, left]), x)
    assert (left == 0).all() == (kind == "BF16")


def test_what_three_bfloat16_cannot_hold():
    x = np.float32([2.0**-112 * (1 + 2.0**-23), 3.4e38, np.inf, np.nan, 0.0, 2.0**-126, 1.0])
    _, left = splitting.split(x)
    assert (left == 0).tolist() == [False, False, False, False, True, True, True]


def test_rounding_is_that_of_the_instructions():
    """Ties: BF16 and FP16 go to the even number, TF32 away from zero."""
    x = np.float32([1 + 2.0**-8, 1 + 3 * 2.0**-8, -1 - 2.0**-8])
    assert splitting.rounded(x, "BF16").tolist() == [1, 1 + 2.0**-6, -1]
    y = np.float32([1 + 2.0**-11, 1 + 3 * 2.0**-11, -1 - 2.0**-11])
    assert splitting.rounded(y, "TF32").tolist() == [1 + 2.0**-10, 1 + 2.0**-9, -1 - 2.0**-10]
    assert splitting.rounded(y, "FP16").tolist() == [1, 1 + 2.0**-9, -1]


def test_pairs_come_smallest_first():
    assert splitting.pairs(3) == [(0, 2), (1, 1), (2, 0), (0, 1), (1, 0), (0, 0)]
    assert splitting.pairs(2) == [(0, 1), (1, 0), (0, 0)]
    assert len(splitting.pairs(3, every=True)) == 9


def test_a_tile_is_scaled_so_that_its_largest_number_lies_below_2_to_the_15():
    x = numbers(-20, 20, 200 * 80).reshape(200, 80)
    x[3, 5] = np.inf
    scale = splitting.scales(x)
    assert len(np.unique(scale[:128, :16])) == len(np.unique(scale[128:, 64:80])) == 1
    largest = np.abs(x * scale)[128:, 32:48].max()
    assert 2**14 <= largest < 2**15 and np.isfinite(scale).all()


@pytest.mark.parametrize(
    "label", [pytest.param(label, marks=if_slow(" " in label)) for label in STEPS]
)
@pytest.mark.parametrize("kind", INPUTS)
def test_the_model_has_the_bits_of_the_step(label, kind):
    A, B = accuracy.matrices(kind, 37, 45, 70)
    found = kernels.step(label)(A, B, device="interpreter")
    model = splitting.product(A, B, **STEPS[label])
    assert np.array_equal(found.view(np.uint32), model.view(np.uint32))


def test_short_sums_are_chains_of_fmas():
    A, B = accuracy.matrices("wide", 20, 30, splitting.LEAST_K - 1)
    assert np.array_equal(splitting.product(A, B), splitting.chain(A, B))
    assert not np.array_equal(splitting.product(A, B, fallback=False), splitting.chain(A, B))


def test_chains_of_tensor_cores_drift_towards_zero():
    """What is cut is lost on one side, so that long sums of positive numbers are too small."""
    A, B = accuracy.matrices("positive", 16, 16, 2048)
    exact = A.astype(np.float64) @ B
    short, long = (
        ((splitting.product(A, B, length=n, fold=None) - exact) / exact).mean() for n in (16, None)
    )
    assert long < 30 * short < 0
