"""Step 24: two scaled FP16 numbers for a float32, and what guards what they lose."""

import numpy as np
import pytest

import kernels
from kernels.analysis import splitting
from kernels.analysis.reference import compare
from kernels.measure import accuracy

RECORD = kernels.errors("NVIDIA H100 80GB HBM3")
STEP = kernels.step("24")
GUARD = "!(size >= of_row[i / 2 % 2].least && size >= of_col.least) ||"


def multiply(step, A, B):
    return step(A, B, device="interpreter")


@pytest.mark.parametrize("name", RECORD["bits"][STEP.label])
def test_the_bits_are_those_of_a_gpu(name):
    kind, shape = name.split()
    A, B = accuracy.matrices(kind, *map(int, shape.split("x")))
    assert accuracy.digest(multiply(STEP, A, B)) == RECORD["bits"][STEP.label][name]


@pytest.mark.parametrize("kind", accuracy.HARD)
def test_hard_input_stays_within_the_bound(kind):
    A, B = accuracy.matrices(kind, 40, 50, 64)
    assert compare(multiply(STEP, A, B), A, B).ok


def test_what_the_guard_is_for_stays_within_the_bound():
    A, B = accuracy.matrices("opposed", 40, 50, 600)
    assert compare(multiply(STEP, A, B), A, B).ok


@pytest.mark.slow
@pytest.mark.parametrize(
    "old, new",
    [
        (GUARD, ""),
        ("start += THREADS / 32 * BLOCK", "start += THREADS / 16 * BLOCK"),
        ("rows[min(first + i % AGAIN, n - 1)]", "rows[0]"),
        ("warp < THREADS / 32", "warp < 1"),
    ],
)
def test_without_a_part_of_the_guard_it_would_not(old, new):
    A, B = accuracy.matrices("opposed", 40, 50, 600)
    assert STEP.source.count(old) == 1
    bare = STEP.edit(source=STEP.source.replace(old, new))
    assert not compare(multiply(bare, A, B), A, B).ok


@pytest.mark.parametrize("power", [-140, -126, -80, 0, 100, 127])
def test_rows_of_any_size(power):
    """Exponents that no factor undoes in one multiplication; sums that overflow or are subnormal
    are those of FMAs."""
    A, B = accuracy.matrices("uniform", 8, 8, 64)
    A = (A * 2.0**power).astype(np.float32)
    for other in (1.0, 2.0 ** -(power // 2), 2.0 ** (power // 2)):
        b = (B * other).astype(np.float32)
        found, fmas = multiply(STEP, A, b), splitting.chain(A, b)
        least = np.float32(2.0**-149) * 64
        finite = np.isfinite(fmas)
        assert np.array_equal(found[~finite], fmas[~finite], equal_nan=True)
        allowed = 66 * 2.0**-24 * (abs(A.astype(float)) @ abs(b.astype(float))) + least
        assert (abs(found[finite] - fmas[finite]) <= 2 * allowed[finite]).all()


def test_one_number_has_only_its_row_computed_again():
    """Rows beside it keep the bits of the tensor cores; its own has those of blocks of FMAs."""
    A, B = accuracy.matrices("uniform", 40, 50, 130)
    before = multiply(STEP, A, B)
    A[7, 3] = np.inf
    after = multiply(STEP, A, B)
    changed = (before != after).any(1)
    assert changed[7] and changed.sum() == 1
    assert np.isinf(after[7]).all()


def test_the_record_is_within_the_bound_and_better_than_cublas_up_to_512():
    for case in RECORD["cases"]:
        assert case["errors"][STEP.label] <= case["shape"][2] + 2, case["kind"]
    for kind in RECORD["errors"].values():
        for K in ("64", "128", "256", "512"):
            assert kind[K][STEP.label] < kind[K]["cublas"]


@pytest.mark.parametrize(
    "first, others",
    [(1, 1.625 * 2.0**-40), (1, 1.625 * 2.0**-37), (2.0**127, 2.0**-40)],
    ids=["held by two parts", "and larger", "turned into 0"],
)
def test_small_numbers_that_lose_nothing_by_themselves_are_guarded(first, others):
    """Second by second parts are left out of their products; the scale makes the last ones 0."""
    A, B = np.full((8, 32), others, np.float32), np.zeros((32, 8), np.float32)
    A[:, 0] = first
    B[1:] = np.random.RandomState(0).uniform(1, 2, (31, 8))
    assert accuracy.largest_error(multiply(STEP, A, B), A, B) < 34
