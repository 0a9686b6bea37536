"""Step 25: boxes of plain matrices, swizzled on their way; and how a step declares tensor maps."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import numpy as np
import pytest
from slow import if_slow

import kernels
from anywarp import gpu, tensor_map
from kernels.analysis.reference import compare
from kernels.ladder import running
from kernels.ladder.launches import placed, read_box
from kernels.ladder.source import parse
from kernels.measure import accuracy
from tests.stand_in import FakeGpu, cupy_array

STEP, HALVES = kernels.step("25"), kernels.step("24")
FEW = STEP.define(GRID=2)  # blocks, so that each has several tiles
RECORDED = kernels.errors("NVIDIA H100 80GB HBM3")["bits"][HALVES.label]
VARIANTS = [
    *("", "PRODUCER=0", "PRODUCER=1", "SWIZZLE=32", "SWIZZLE=64", "CLUSTER=2", "TMA_STORE=1"),
    *("PING_PONG=1 STAGES=2", "PING_PONG=1 STAGES=2 CLUSTER=2 PRODUCER=0 TMA_STORE=1"),
]
PLAIN = "", "SWIZZLE=32", VARIANTS[-1]  # the last has all but the width of a line


def beyond(few, every):
    return [pytest.param(one, marks=if_slow(one not in few)) for one in every]


def variant(words):
    return kernels.step(f"25 GRID=2 {words}".strip())


def multiply(step, A, B, *more):
    return step(A, B, *more, device="interpreter")


@functools.cache
def product(step):
    """Of a shape in which a block of `FEW` has several tiles, at the edges too."""
    A, B = accuracy.matrices("uniform", 260, 132, 136)
    return multiply(step, A, B, np.ones((260, 132), np.float32), 1.5, -0.5)


@pytest.mark.parametrize("words", beyond(PLAIN, VARIANTS))
def test_the_bits_are_those_of_step_24(words):
    assert np.array_equal(product(variant(words)), product(HALVES))


def test_transposed_operands_are_packed_alike():
    A, B = accuracy.matrices("uniform", 140, 132, 136)
    found = multiply(FEW, np.asfortranarray(A), np.asfortranarray(B))
    assert np.array_equal(found, multiply(HALVES, A, B))


@pytest.mark.parametrize("name", beyond([*RECORDED][-2:], RECORDED))  # spoilt by what has no parts
def test_they_are_those_that_a_gpu_has_of_step_24(name):
    """An H100 compared the two steps at other shapes, up to 4096, and found them equal."""
    kind, shape = name.split()
    A, B = accuracy.matrices(kind, *map(int, shape.split("x")))
    assert accuracy.digest(multiply(STEP, A, B)) == RECORDED[name]


@pytest.mark.parametrize("kind", beyond(["opposed"], accuracy.HARD))
@pytest.mark.parametrize("words", ["", VARIANTS[-1]], ids=["", "teams"])
def test_hard_input_stays_within_the_bound(words, kind):
    A, B = accuracy.matrices(kind, 40, 52, 64)
    assert compare(multiply(variant(words), A, B), A, B).ok


def test_what_the_guard_is_for_stays_within_the_bound():
    A, B = accuracy.matrices("opposed", 40, 52, 600)
    assert compare(multiply(FEW, A, B), A, B).ok


@pytest.mark.slow
@pytest.mark.parametrize(
    "old, new",
    [
        ("!(size >= of_row[i / 2 % 2].least && size >= of_col.least) ||", ""),
        ("start += TEAM / 32 * BLOCK", "start += TEAM / 16 * BLOCK"),
        ("warp < TEAM / 32", "warp < 1"),
    ],
)
def test_without_a_part_of_the_guard_it_would_not(old, new):
    A, B = accuracy.matrices("opposed", 40, 52, 600)
    assert STEP.source.count(old) == 1
    bare = FEW.edit(source=STEP.source.replace(old, new))
    assert not compare(multiply(bare, A, B), A, B).ok


def test_a_marked_row_is_not_stored_by_the_copy_engine_too():
    """Its bits are those of FMAs, and those of the rows beside it of tensor cores."""
    A, B = accuracy.matrices("uniform", 140, 136, 130)
    step = variant("TMA_STORE=1")
    before = multiply(step, A, B)
    A[135, 3] = np.inf
    after = multiply(step, A, B, np.ones((140, 136), np.float32), 1, 1)
    assert np.isinf(after[135]).all() and np.isfinite(after[:135]).all()
    assert np.allclose(after[:135], before[:135] + 1)


@pytest.mark.parametrize("words", beyond(VARIANTS[-1:], VARIANTS))
def test_it_is_clean(words):
    assert variant(words).sanitize(140, 132, 200) == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "old, kind",
    [
        ('asm volatile("fence.proxy.async.shared::cta;" ::: "memory");', "race"),
        ("                bulk_stored();\n", "asynchronous copy"),
    ],
)
def test_a_strip_is_neither_stored_too_early_nor_overwritten(old, kind):
    assert STEP.source.count(old) == 1
    hasty = STEP.define(TMA_STORE=1).edit(source=STEP.source.replace(old, ""))
    assert {finding.kind for finding in hasty.sanitize(64, 64, 64)} == {kind}


# ---------------------------------------------------------------------- what a file declares

TILE = "#ifndef BM\n#define BM 16\n#endif\n#ifndef BN\n#define BN 8\n#endif\n"
MAP = "parts(at=64 * M, shape=(2, M, K), box=(2, BM, BN), swizzle=16 * BN)"


def file(*lines):
    comment = "".join(f"// {line}\n" for line in ("block: 32", *lines))
    return parse(Path("07_it.cu"), f"// It\n{comment}{TILE}")


def test_a_tensor_map_of_a_product():
    one = file(f"tensor map: {MAP}", "tensor map: b(at=0, shape=(N, K), box=(8, 8), swizzle=0)")
    assert [box.name for box in one.boxes] == ["parts", "b"]
    values = {"M": 6, "N": 5, "K": 24, "BM": 16, "BN": 8}
    at, tile = placed(one.boxes[0], values)
    assert (at, tile.sizes, tile.strides) == (384, (24, 6, 2), (2, 48, 288))
    assert (tile.kind, tile.box, tile.steps, tile.swizzle) == ("f16", (8, 16, 2), (1, 1, 1), 128)
    assert placed(one.boxes[1], values)[1].strides == (2, 48)
    array = np.zeros((2, 6, 24), np.float16)
    assert tile == kernels.TensorMap(array, (2, 16, 8), swizzle=128).tile


@pytest.mark.parametrize(
    "line, words",
    [
        ("parts", "a tensor map is parts(at=0, shape=(2, M, K), box=(2, BM, 32), swizzle=64), not"),
        ("parts(at=0, shape=M, box=8)", "parts lacks its swizzle: a tensor map is parts("),
        ("parts(grid=2)", "parts has no 'grid'; it has at, shape, box, swizzle"),
        (MAP.replace("BM", "M"), "'(2, M, BN)' has the name M; known are BM, BN"),
    ],
)
def test_what_is_none_is_refused(line, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        read_box(line, ("BM", "BN"))
    with pytest.raises(ValueError, match=r"^07_it\.cu:3: tensor map: " + re.escape(words)):
        file(f"tensor map: {line}")


def test_an_edit_keeps_them():
    bare = "".join(line for line in STEP.source.splitlines(True) if not line.startswith("//"))
    kept = STEP.edit(source=f"// Bare\n{bare}")
    assert kept.parameters == STEP.parameters and kept.parameters[-2:] == ("map_a", "map_b")
    assert kept.file.boxes == STEP.file.boxes


def test_a_kernel_that_takes_none_is_refused():
    old = "const __grid_constant__ TensorMap map_b"
    assert STEP.source.count(old) == 2
    wrong = STEP.edit(source=STEP.source.replace(old, "float* wrong").replace("map_b,", "map_a,"))
    with pytest.raises(ValueError, match=r"float\* wrong\): is a bytes, but must be"):
        wrong.kernels  # noqa: B018


# ---------------------------------------------------------------------- what a launch is handed


def test_a_gpu_gets_maps_of_the_workspace_of_the_call(monkeypatch):
    fake = FakeGpu(monkeypatch, "iiifPPfPiiiPMM")
    asked = []

    def encode(start, tile):
        asked.append((start, tile))
        return bytes([len(asked)]) * tensor_map.BYTES

    monkeypatch.setattr("kernels.ladder.calls.encode", encode)
    A, B, C = (cupy_array((128, 128), n << 20) for n in (1, 2, 3))
    for again in range(2):  # the second one is known
        asked.clear()
        STEP(A, B, C)
        room = fake.rooms[-1].ptr
        (start_a, a), (start_b, b) = asked
        assert (start_a, start_b) == (room, room + 4 * 128 * 128)
        assert (a.sizes, b.box, a.swizzle) == ((128, 128, 2), (64, 128, 2), 128)
        *_, workspace, first, second = fake.launched[-1][-1]
        assert workspace == room and again in (0, 1)
        assert (first, second) == (b"\1" * tensor_map.BYTES, b"\2" * tensor_map.BYTES)
    assert [symbol for symbol, *_ in fake.launched] == ["pack", "sgemm"] * 2


def test_arrays_of_numpy_are_mapped_where_the_workspace_is():
    values = running.random(STEP, 8, 8, 40)
    room, a, b = values[-3:]
    assert a.memory is room and b.memory is room and (a.offset, b.offset) == (0, 4 * 8 * 40)


def test_the_driver_is_asked_once_for_an_address(monkeypatch):
    asked = []

    class Driver:
        def cuTensorMapEncodeTiled(self, *words):
            asked.append(words)
            return 0

    monkeypatch.setattr(gpu, "require", lambda: None)
    monkeypatch.setattr(gpu, "driver_library", lambda: Driver())
    tile = STEP._tensor_maps(128, 128, 64)[0][1]
    for start in (1 << 30, 1 << 31, 1 << 30):
        assert len(tensor_map.encode(start, tile)) == tensor_map.BYTES
    tensor_map.encode.cache_clear()
    assert len(asked) == 2
