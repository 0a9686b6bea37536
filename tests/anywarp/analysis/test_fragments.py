"""Fragments of matrices, against the formulas of the PTX ISA's figures."""

import numpy as np
import pytest

from anywarp.analysis import fragments

LANE = np.arange(32)
GROUP, MEMBER = LANE >> 2, LANE % 4
BF16 = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
TF32 = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
S8 = "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32"


def held(fragment, number):
    """(row, column) of each lane's element `number`, of all in its registers in order."""
    packed = fragment.row.shape[-1]
    at = number // packed, slice(None), number % packed
    return fragment.row[at], fragment.column[at]


def same(fragment, number, row, column):
    found = held(fragment, number)
    assert (found[0] == row).all() and (found[1] == column).all(), number


def test_halves_of_m16n8k16():
    found = fragments(BF16)
    assert {name: one.shape for name, one in found.items()} == {
        "A": (16, 16), "B": (16, 8), "D": (16, 8),
    }  # fmt: skip
    assert [one.register for one in found.values()] == ["a", "b", "d"]
    for i in range(8):
        below, right = 8 * (i in (2, 3, 6, 7)), 8 * (i >= 4)
        same(found["A"], i, GROUP + below, MEMBER * 2 + i % 2 + right)
    for i in range(4):
        same(found["B"], i, MEMBER * 2 + i % 2 + 8 * (i >= 2), GROUP)
        same(found["D"], i, GROUP + 8 * (i >= 2), MEMBER * 2 + i % 2)


def test_words_of_m16n8k8():
    found = fragments(TF32)
    for i in range(4):
        same(found["A"], i, GROUP + 8 * (i % 2), MEMBER + 4 * (i >= 2))
    for i in range(2):
        same(found["B"], i, MEMBER + 4 * i, GROUP)


def test_bytes_of_m16n8k32():
    found = fragments(S8)
    for i in range(16):
        below, right = 8 * (i // 4 % 2), 16 * (i >= 8)
        same(found["A"], i, GROUP + below, MEMBER * 4 + i % 4 + right)
    for i in range(8):
        same(found["B"], i, MEMBER * 4 + i % 4 + 16 * (i >= 4), GROUP)


@pytest.mark.parametrize("name", ["ldmatrix", "stmatrix"])
def test_eight_rows_of_halves(name):
    found = fragments(f"{name}.sync.aligned.m8n8.x4.shared.b16")
    assert list(found) == ["0", "1", "2", "3"]
    assert [one.register for one in found.values()] == ["r0", "r1", "r2", "r3"]
    turned = fragments(f"{name}.sync.aligned.m8n8.x2.trans.shared.b16")
    assert list(turned) == ["0", "1"]
    for i in range(2):
        for one in found.values():
            same(one, i, GROUP, 2 * MEMBER + i)
        for one in turned.values():
            same(one, i, 2 * MEMBER + i, GROUP)


@pytest.mark.parametrize("n", [8, 24, 256])
def test_product_of_a_warpgroup(n):
    thread = np.arange(128)
    product = fragments(f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.bf16.bf16")["D"]
    assert product.shape == (64, n) and product.row.shape == (n // 2, 128, 1)
    halves = fragments(f"wgmma.mma_async.sync.aligned.m64n{n}k16.f16.f16.f16")["D"]
    assert halves.shape == (64, n) and halves.row.shape == (n // 4, 128, 2)
    for i in range(n // 2):
        row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (i // 2 % 2)
        for one in product, halves:
            same(one, i, row, 8 * (i // 4) + 2 * (thread % 4) + i % 2)


@pytest.mark.parametrize("text", [
    BF16, TF32, S8, "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
    "wgmma.mma_async.sync.aligned.m64n16k32.s32.u8.s8",
])  # fmt: skip
def test_each_element_is_held_once(text):
    for one in fragments(text).values():
        rows, columns = one.shape
        numbers = one.row * columns + one.column
        assert sorted(numbers.ravel().tolist()) == list(range(rows * columns))


@pytest.mark.parametrize("text", [
    "", "fma.rn.f32", "mma", "mma.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32",
    "mma.sync.aligned.m16n8k16", "mma.sync.aligned.m16n8k16.col.row.f32.bf16.bf16.f32",
    "mma.sync.aligned.m8n8k8.row.col.f32.bf16.bf16.f32",
    "ldmatrix.sync.aligned.m8n8.x3.shared.b16", "ldmatrix",
    "wgmma.mma_async.sync.aligned.m64n12k16.f32.bf16.bf16", "wgmma.fence.sync.aligned",
    "wgmma.mma_async.sync.aligned.m64n16k8.f32.bf16.bf16",
    "wgmma.mma_async.sync.aligned.m32n16k16.f32.bf16.bf16",
])  # fmt: skip
def test_other_instructions_are_refused(text):
    with pytest.raises(ValueError, match="there are no fragments of"):
        fragments(text)
