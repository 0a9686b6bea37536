"""Slices and transposes: what is read as it is stored, by which step, and what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest
from several import several

import kernels
from kernels.analysis.reference import assert_close, inputs
from kernels.ladder.product.layout import (
    OTHER,
    SLICE,
    TRANSPOSED,
    WHOLE as ROWS,
    can_read,
    form_of,
    laid_out,
    memory_of,
    overlap,
    pitch_of,
    reads,
    to_read,
)
from kernels.ladder.product.product import Product
from tests.stand_in import cupy_array

STEP = several()
WHOLE = np.zeros((6, 10), np.float32)


@pytest.mark.parametrize("x, by_rows, by_columns", [
    (WHOLE, 10, None),
    (WHOLE.T, None, 10),
    (WHOLE[1:4, 2:9], 10, None),
    (WHOLE[1:4, 2:9].T, None, 10),
    (WHOLE[::2], 20, None),
    (WHOLE[::-1], None, None),
    (WHOLE[:, ::2], None, None),
    (WHOLE[:, ::-1], None, None),
    (WHOLE[2:3, 1:5], 4, 1),
    (WHOLE[2:3, ::3], None, 3),  # a column that is stored with gaps
    (WHOLE[:, 3:4], 10, None),
    (WHOLE[:, :0], 0, 6),
    (np.broadcast_to(WHOLE[0], (4, 10)), None, None),
    (np.broadcast_to(np.float32(1), (1, 1)), 1, 1),
    (np.lib.stride_tricks.as_strided(WHOLE, (4, 5), (12, 4)), None, None),  # rows that overlap
])  # fmt: skip
def test_pitches(x, by_rows, by_columns):
    assert (pitch_of(x), pitch_of(x, True)) == (by_rows, by_columns)
    assert (pitch_of(x.T, True), pitch_of(x.T)) == (by_rows, by_columns)


def test_what_a_step_reads():
    both, slices, none = {"TRANS_A": 0}, ("lda",), ()
    assert reads("A", WHOLE, both, slices) == 0 and reads("A", WHOLE.T, both, slices) == 1
    assert reads("A", WHOLE.T, {"TRANS_A": 1}, none) == 1 == reads("A", WHOLE.T, both, none)
    assert reads("A", WHOLE[:, :3], both, none) is None
    assert reads("A", WHOLE[:, :3], both, slices) == 0
    assert reads("B", WHOLE.T, both, slices) is None  # there is no TRANS_B
    row = WHOLE[:1]  # is stored both ways: as it is wanted
    assert reads("A", row, {"TRANS_A": 1}, none) == 1 and reads("A", row, both, none) == 0


FORMS = [
    (WHOLE, ROWS),
    (WHOLE.T, TRANSPOSED),
    (WHOLE[:, 2:], SLICE),
    (WHOLE[1:3, 2:].T, SLICE | TRANSPOSED),
    (WHOLE[::-1], OTHER),
    (WHOLE[:, ::2], OTHER),
    (WHOLE[:1], ROWS),
    (WHOLE[:, :1], SLICE),
    (WHOLE[:1, ::3], SLICE | TRANSPOSED),
]


@pytest.mark.parametrize("x, form", FORMS)
def test_forms(x, form):
    """What `can_read` says of a form, `reads` finds of the matrix."""
    assert form_of(x) == form
    for defines in ({}, {"TRANS_A": 0}):
        for arguments in ((), ("lda",), ("ldb", "workspace")):
            found = reads("A", x, defines, arguments)
            assert can_read(form, "A", defines, arguments) == (found is not None)
            if found is not None:
                assert found == (form & TRANSPOSED)


@pytest.mark.parametrize("x", [WHOLE, WHOLE.T, WHOLE[1:4, 2:9], WHOLE[1:4, 2:9].T, WHOLE[::2, :1]])
def test_the_memory_of_a_matrix(x):
    memory = memory_of(x)
    assert memory.flags.c_contiguous and memory.ctypes.data == x.ctypes.data
    assert memory.nbytes == sum((n - 1) * s for n, s in zip(x.shape, x.strides)) + 4
    before = WHOLE.copy()
    memory.reshape(-1)[-1] = 7
    assert x[-1, -1] == 7
    WHOLE[:] = before
    locked = x.view()
    locked.flags.writeable = False
    assert not memory_of(locked).flags.writeable


def test_what_lies_between_the_rows_that_are_written_is_copied():
    whole = np.zeros((6, 10), np.float32)
    left, right = whole[:, :4], whole[:, 5:]
    assert not to_read(left, np.zeros(3)).flags.writeable
    assert np.shares_memory(to_read(left, np.zeros(3)), left)
    assert not np.shares_memory(to_read(left, right), left)


# ------------------------------------------------------------------------ overlaps


@pytest.mark.parametrize("first, second, shared", [
    (np.s_[:, :4], np.s_[:, 4:], False),
    (np.s_[:, :4], np.s_[:, 3:], True),
    (np.s_[1:, 6:], np.s_[:5, :6], False),
    (np.s_[:3], np.s_[3:], False),
    (np.s_[:4], np.s_[3:], True),
    (np.s_[:, 2:7], np.s_[3:4, 4:5], True),
    (np.s_[2:5, 2:7], np.s_[5:6], False),
    (np.s_[:0], np.s_[:], False),
])  # fmt: skip
def test_overlaps(first, second, shared):
    for whole in (WHOLE, cupy_array(WHOLE.shape)):
        x, y = whole[first], whole[second]
        for pair in ((x, y), (y, x), (x.T, y.T), (y.T, x.T)):
            assert overlap(*pair) == shared


def test_other_pitches_are_taken_to_overlap():
    for flat in (np.zeros(60, np.float32), cupy_array((60,))):
        x, y = flat.reshape(6, 10)[:, :2], flat.reshape(12, 5)[:, 2:3]
        assert overlap(x, y) == (not isinstance(flat, np.ndarray))


# ------------------------------------------------------------------------ calls


def test_laid_out():
    A, B, _ = inputs(3, 4, 5)
    for trans_a, trans_b in ((0, 0), (0, 1), (1, 0), (1, 1)):
        C, D = laid_out(A, B, {"TRANS_A": trans_a, "TRANS_B": trans_b})
        assert (C == A).all() and (D == B).all()
        assert C.flags.f_contiguous == bool(trans_a) and D.flags.f_contiguous == bool(trans_b)


def within(x, rows=2, columns=3):
    """A slice with the elements of x, in a larger matrix of NaN; stored as x is."""
    if x.flags.f_contiguous and not x.flags.c_contiguous:
        return within(x.T, columns, rows).T
    whole = np.full((x.shape[0] + 2 * rows, x.shape[1] + 2 * columns), np.nan, np.float32)
    inside = whole[rows:-rows, columns:-columns]
    inside[:] = x
    return inside


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("sliced", ["", "A", "B", "C", "ABC"])
def test_slices_and_transposes_are_read_as_they_are(trans_a, trans_b, sliced):
    A, B, C = inputs(21, 19, 11)
    A, B = laid_out(A, B, {"TRANS_A": trans_a, "TRANS_B": trans_b})
    before = C.copy()
    A, B, C = (within(x) if name in sliced else x for name, x in zip("ABC", (A, B, C)))
    product = Product.of(A, B, C, device="interpreter")
    chosen = STEP._stored_as(product)
    assert (chosen.defines["TRANS_A"], chosen.defines["TRANS_B"]) == (trans_a, trans_b)
    assert chosen is STEP._stored_as(product) and (chosen is STEP) == (not trans_a and not trans_b)
    assert STEP(A, B, C, 1.5, -0.5, device="interpreter") is C
    assert_close(C, A, B, before, 1.5, -0.5)
    if "C" in sliced:
        around = C.base.copy()
        around[2:-2, 3:-3] = np.nan
        assert np.isnan(around).all()


def test_a_variant_that_transposes_reads_rows_too():
    A, B, _ = inputs(9, 8, 7)
    variant = several("18 TRANS_A=1 TRANS_B=1")
    assert variant._stored_as(Product.of(A, B)).defines == STEP.defines
    assert_close(variant(A, B, device="interpreter"), A, B)


def test_a_slice_reaches_no_further_than_an_index():
    B = np.zeros((4, 5), np.float32)
    for apart, message in (
        (2**33, "A reaches over 4294967300 elements"),
        (2**32, "over 2147483652"),
    ):
        A = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (3, 4), (apart, 4))
        with pytest.raises(ValueError, match=f"{message}.*steps index with 32 bits"):
            STEP(A, B, device="interpreter")


def test_matrices_of_one_whole():
    whole = np.zeros((20, 40), np.float32)
    A, B, C = whole[:10, :12], whole[:12, 12:28], whole[8:18, 24:40]
    A[:], B[:], _ = inputs(10, 16, 12)
    with pytest.raises(ValueError, match="C and B overlap in memory"):
        STEP(A, B, C, device="interpreter")
    C = whole[6:16, 28:]
    B = B[:, :12]
    STEP(A, B, C, device="interpreter")
    assert_close(C, A, B)


@pytest.mark.parametrize("name", "ABC")
@pytest.mark.parametrize("view", [within, np.asfortranarray, lambda x: x[::-1]])
def test_other_steps_refuse_and_say_what_to_do(name, view):
    matrices = dict(zip("ABC", inputs(16, 64, 8)))
    matrices[name] = view(matrices[name])
    message = f"{name} is not C-contiguous (a transpose or a slice?), which 03_coalesced needs: "
    copy = f"np.ascontiguousarray({name})"
    message += f"C[...] = step(A, B, {copy}, alpha, beta)" if name == "C" else copy
    if name == "C" or view in (within, np.asfortranarray):
        message += ", or kernels.sgemm, which takes it as it is"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        kernels.step(3)(*matrices.values(), device="interpreter")


def test_alignment_is_that_of_the_rows_of_a_slice_too():
    one = STEP.edit(alignment=16)
    A, B, _ = inputs(16, 8, 4)
    assert_close(one(within(A, 2, 2), B, device="interpreter"), A, B)  # 8 elements
    with pytest.raises(
        ValueError, match=r"A has rows at addresses that are no multiple of 16 byt.*np.array\(A"
    ):
        one(within(A, 2, 3), B, device="interpreter")
