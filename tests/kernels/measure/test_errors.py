"""kernels.measure.accuracy and benchmarks.errors: matrices, errors, the record of an H200."""

import numpy as np
import pytest

import kernels
from anywarp.ptx.arithmetic import tensor_core
from benchmarks import errors
from kernels.analysis import splitting
from kernels.measure import accuracy

RECORD = kernels.errors("NVIDIA H200")
ARITHMETIC = {  # what of the model is the arithmetic of a label that is recorded; None: FMAs
    errors.SIMT: None,
    "20_tensor_cores": {},
    "20_tensor_cores FOLD=0": {"fold": None},
    "20_tensor_cores ALL=1": {"every": True},
    errors.CHAINED: {"length": None, "fold": None},
    "20_tensor_cores KIND=1 PARTS=2 FOLD=0": {"kind": "TF32", "fold": None},
    "20_tensor_cores BK=32 KIND=2 PARTS=2 CHAIN=32 FOLD=0": {
        "kind": "FP16", "length": 32, "fold": None, "depth": 32,
    },
}  # fmt: skip
STEP, WITHOUT = "20_tensor_cores", "20_tensor_cores FOLD=0"


def test_matrices_are_the_same_in_every_run_and_of_their_kind():
    for kind in (*accuracy.KINDS, accuracy.SPOILT_KIND):
        one, other = (accuracy.matrices(kind, 40, 50, 60) for _ in range(2))
        assert one[0].dtype == one[1].dtype == np.float32
        assert all(x.tobytes() == y.tobytes() for x, y in zip(one, other))
        assert (one[0].shape, one[1].shape) == ((40, 60), (60, 50))
    assert accuracy.matrices("positive", 9, 9, 9)[0].min() >= 0
    wide = np.abs(accuracy.matrices("wide", 40, 50, 60)[0])
    assert wide.max() / wide.min() > 2.0**20
    A, B = (x.astype(np.float64) for x in accuracy.matrices("cancelling", 40, 50, 61))
    assert np.abs(A @ B).max() < 0.2 * (np.abs(A) @ np.abs(B)).min()
    A, _ = accuracy.matrices("graded", 40, 50, 60)
    assert np.abs(A).max(1).max() / np.abs(A).max(1).min() > 2.0**20


def test_the_largest_error():
    A, B = np.float32([[3, 4]]), np.float32([[1], [2]])
    exact = np.float32([[11]])
    assert accuracy.largest_error(exact, A, B) == 0
    assert accuracy.largest_error(exact + np.float32(2.0**-20), A, B) == 16 / 11
    assert np.isnan(accuracy.largest_error(exact * np.float32(np.nan), A, B))


@pytest.mark.parametrize("label", ARITHMETIC)
def test_the_model_has_the_recorded_bits(label):
    """SHA-256 of C, as an H200 computed it; so has the interpreter, which test_splitting shows."""
    assert RECORD["bits"][label]
    for name in RECORD["bits"][label]:
        assert has_the_recorded_bits(label, name), name


def has_the_recorded_bits(label: str, name: str) -> bool:
    kind, shape = name.split()
    A, B = accuracy.matrices(kind, *map(int, shape.split("x")))
    arithmetic = ARITHMETIC[label]
    C = splitting.chain(A, B) if arithmetic is None else splitting.product(A, B, **arithmetic)
    return accuracy.digest(C) == RECORD["bits"][label][name]


@pytest.mark.parametrize(
    "label, shape, least, same",
    [
        (STEP, "40x50x70", -128, False),
        (STEP, "40x50x70", -129, True),
        (errors.CHAINED, "130x140x33", -137, True),
        (errors.CHAINED, "130x140x33", -138, False),
    ],
)
def test_the_record_bounds_the_least_exponent_of_sums(monkeypatch, label, shape, least, same):
    """By a row of products around 2**-125."""
    monkeypatch.setitem(tensor_core.LEAST_TOP, "f32", np.int16(least))
    assert has_the_recorded_bits(label, f"{accuracy.SPOILT_KIND} {shape}") == same


def test_the_record_is_whole():
    assert set(accuracy.STUDIED) == set(RECORD["errors"]) == set(RECORD["chains"])
    for rows in RECORD["errors"].values():
        assert list(rows) == [str(K) for K in errors.DEPTHS]
    assert len(RECORD["cases"]) == len(errors.SHAPES) * len(accuracy.KINDS) == 30
    assert {(c["kind"], tuple(c["shape"])) for c in RECORD["cases"]} == {
        (kind, shape) for kind in accuracy.KINDS for shape in errors.SHAPES
    }


def rows():
    """Errors by label, of all that was measured with K >= 3."""
    for kind in RECORD["errors"].values():
        yield from (found for K, found in kind.items() if int(K) >= 3)
    yield from (case["errors"] for case in RECORD["cases"])


def test_tensor_cores_are_no_worse_than_fmas_and_with_totals_than_cublas_in_fp32():
    for found in rows():
        assert found[WITHOUT] <= found[errors.SIMT] and found[STEP] <= found["cublas"]


def test_long_chains_are_wrong_and_short_ones_are_the_step():
    depth = str(RECORD["chained depth"])
    for kind, found in RECORD["chains"].items():
        assert found[depth] > 8 * found["32"]
        assert found["16"] == pytest.approx(RECORD["errors"][kind][depth][WITHOUT], rel=0.5)
