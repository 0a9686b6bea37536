"""Tensor maps as arguments: what is refused, in words, and what becomes of the array."""

from __future__ import annotations

import ctypes
import itertools
import re

import numpy as np
import pytest
from tensors import LOAD, STORE, expected_box, in_shared, load, room, source, store

import kernels
from anywarp import gpu, tensor_map
from anywarp.ptx.asynchronous.tensor_maps import Tile

RNG = np.random.default_rng(3)


def floats(*shape: int) -> np.ndarray:
    return RNG.random(shape, np.float32)


# -- what is refused --------------------------------------------------------------------------

WRONG = [
    (lambda: ([1.0] * 16, 4), {}, TypeError, "of an array, not of a list"),
    (lambda: (np.zeros(()), 4), {}, ValueError, "1 to 5 dimensions, the array has 0"),
    (lambda: (floats(1, 1, 1, 1, 1, 4), 4), {}, ValueError, "1 to 5 dimensions, the array has 6"),
    (lambda: (floats(8, 8).astype(complex), (4, 4)), {}, TypeError, "no type for complex128"),
    (lambda: (floats(8, 16).astype(np.int8), (4, 16)), {}, TypeError, r"x\.view\(np\.uint8\)"),
    (lambda: (floats(8, 8).astype(">f4"), (4, 4)), {}, TypeError, "no type for >f4"),
    (lambda: (floats(8, 8), (4, 4)), dict(dtype="bfloat16"), TypeError, "of uint16, not float32"),
    (lambda: (floats(8, 8), (4, 4)), dict(dtype="tf32"), ValueError, "not 'tf32'"),
    (lambda: (floats(0, 8), (4, 4)), {}, ValueError, "shape must be 1 to 4294967296 .* not 0"),
    (lambda: (floats(8, 8), (4, 4, 4)), {}, ValueError, "box has 3 numbers for 2 dimensions"),
    (lambda: (floats(8, 8), (257, 4)), {}, ValueError, "box must be 1 to 256 .* not 257"),
    (lambda: (floats(8, 8), (0, 4)), {}, ValueError, "box must be 1 to 256 .* not 0"),
    (lambda: (floats(8, 8), (256, 228)), {}, ValueError, "box is 233472 bytes: .* 232448"),
    (lambda: (floats(8, 8), (4, 4.0)), {}, TypeError, "box must be whole numbers, not 4.0"),
    (lambda: (floats(8, 8), (4, 6)), {}, ValueError, "24 bytes, and must be a multiple of 16"),
    (lambda: (floats(8, 64), (4, 32)), dict(swizzle=64), ValueError,
     "128 bytes, and a swizzle of 64 takes 64 at most"),
    (lambda: (floats(8, 8), (4, 4)), dict(swizzle=16), ValueError, "one of 0, 32, 64, 128, not 16"),
    (lambda: (floats(8, 8), (4, 4)), dict(fill="ones"), ValueError, "'zeros', 'nan', not 'ones'"),
    (lambda: (floats(8, 8).view("u4"), (4, 4)), dict(fill="nan"), ValueError, "not uint32"),
    (lambda: (floats(8, 8), (4, 4)), dict(element_strides=(9, 1)), ValueError, "1 to 8 .* not 9"),
    (lambda: (floats(8, 8), (4, 4)), dict(element_strides=(0, 1)), ValueError, "1 to 8 .* not 0"),
    (lambda: (floats(8, 8), (4, 4)), dict(element_strides=2), ValueError, "it must be 1"),
    (lambda: (floats(8, 10), (4, 4)), {}, ValueError, "40 bytes apart: .* 16, so pad the rows"),
    (lambda: (floats(8, 8).T, (4, 4)), {}, ValueError, "32 bytes apart: .* every 4 .*transpose"),
    (lambda: (floats(8, 8)[::-1], (4, 4)), {}, ValueError, "-32 bytes apart"),
    (lambda: (floats(32)[::2], 4), {}, ValueError, "8 bytes apart: they must follow one another"),
    (lambda: (floats(8, 8)[:, 1:5], (4, 4)), {}, ValueError, "begins 4 bytes past a multiple"),
]  # fmt: skip


@pytest.mark.parametrize("arguments, options, error, words", WRONG)
def test_wrong_maps_are_refused_in_words(arguments, options, error, words):
    with pytest.raises(error, match=words):
        kernels.TensorMap(*arguments(), **options)


def test_the_limits_themselves_are_allowed():
    array = floats(256, 64)
    tensor = kernels.TensorMap(array, (256, 32), element_strides=(8, 1), swizzle=128)
    assert tensor.tile == Tile("f32", (64, 256), (4, 256), (32, 256), (1, 8), 128, False)
    assert repr(tensor) == "<TensorMap of .f32 (256, 64), box (256, 32), swizzle 128>"
    assert kernels.TensorMap(array[4:], 4).tile.box == (4, 4)


def test_a_part_is_of_the_array_that_it_was_cut_from():
    array = floats(16, 64)
    tensor = kernels.TensorMap(array[2:9, 4:40], (4, 4))
    assert tensor.memory is array and tensor.offset == 2 * 256 + 16
    assert tensor.tile.sizes == (36, 7) and tensor.tile.strides == (4, 256)
    part = array[2:9, 4:40]
    part.flags.writeable = False
    assert not kernels.TensorMap(part, (4, 4)).memory.flags.writeable and array.flags.writeable
    windows = np.lib.stride_tricks.as_strided(floats(64), (4, 16), (32, 4))
    with pytest.raises(ValueError, match="a part of one that is not C-contiguous"):
        kernels.TensorMap(windows, (4, 4))


def test_a_dimension_of_one_element_may_have_any_stride():
    row = floats(10)
    assert row[None].strides == (0, 4)
    tensor = kernels.TensorMap(row[None], (2, 4))
    assert tensor.tile.sizes == (10, 1) and tensor.tile.strides == (4, 48)
    tensor = kernels.TensorMap(row[None, None], (1, 2, 4))
    assert tensor.tile.strides == (4, 48, 48)
    assert kernels.TensorMap(floats(8, 64)[:, :1], (4, 4)).tile.strides == (4, 256)
    tensor = kernels.TensorMap(floats(3, 1, 12), (2, 1, 4))
    assert tensor.tile.strides == (4, 48, 48)


# -- arguments of a kernel --------------------------------------------------------------------


@pytest.fixture(scope="module")
def loading():
    return kernels.Kernel(source(LOAD, 2), "load")


def arguments(tensor) -> list:
    return [tensor, np.zeros(2, np.int32), np.zeros(512, np.uint8), 512, 512, 0]


def test_an_array_alone_is_not_enough(loading):
    words = (
        r"args\[0\] of load \(.*CUtensorMap map\): is an array.*anywarp\.TensorMap\(array, box\)"
    )
    with pytest.raises(TypeError, match=words):
        loading(1, 64, arguments(floats(8, 64)), device="interpreter", shared_mem=528)
    with pytest.raises(TypeError, match="must be bytes or a NumPy scalar of 128 bytes"):
        loading(1, 64, arguments(7), device="interpreter", shared_mem=528)


def test_a_map_is_no_pointer_and_no_other_struct(loading):
    tensor = kernels.TensorMap(floats(8, 64), (4, 32))
    wrong = arguments(tensor)
    wrong[2] = tensor
    with pytest.raises(TypeError, match=r"args\[2\] .* is a TensorMap"):
        loading(1, 64, wrong, device="interpreter", shared_mem=528)
    other = kernels.Kernel(
        'struct S { int x[8]; }; extern "C" __global__ void f(S s, int* o) { *o = s.x[0]; }', "f"
    )
    with pytest.raises(TypeError, match="is a TensorMap, but must be bytes"):
        other(1, 1, [tensor, np.zeros(1, np.int32)], device="interpreter")


def test_overlapping_arrays_are_refused(loading):
    array = np.zeros((16, 64), np.float32)
    wrong = arguments(kernels.TensorMap(array, (4, 32)))
    wrong[2] = array[4:6].view(np.uint8).reshape(-1)
    with pytest.raises(ValueError, match="overlap in memory"):
        loading(1, 64, wrong, device="interpreter", shared_mem=528)


def test_what_is_stored_is_written_back_to_a_part():
    array = np.zeros((16, 64), np.float32)
    new = floats(4, 8)
    store(kernels.TensorMap(array[3:9, 16:56], (4, 8)), (4, 36), new.view(np.uint8).ravel())
    expected = np.zeros_like(array)
    expected[7:9, 52:56] = new[:2, :4]  # the rest is outside of the part
    assert (array == expected).all()


def test_two_maps_of_one_array():
    text = source(STORE, 1).replace(
        "int shift)", "int shift, const __grid_constant__ CUtensorMap b)"
    )
    text = text.replace("asm volatile(\"cp.async.bulk.commit_group;\");", """
        asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%1, {%2}], [%0];"
                     :: "r"(shared_address(tile)), "l"(&b), "r"(0) : "memory");
        asm volatile("cp.async.bulk.commit_group;");""")  # fmt: skip
    array = np.zeros((2, 32), np.float32)
    flat, new = array.reshape(-1), floats(8).view(np.uint8)
    maps = kernels.TensorMap(flat, 4), kernels.TensorMap(flat, 8)
    kernel = kernels.Kernel(text, "store")
    args = [maps[0], np.array([40], np.int32), new, 32, 0, maps[1]]
    kernel(1, 32, args, device="interpreter", shared_mem=32)
    assert (flat[:8] == new.view(np.float32)).all() and (flat[40:44] == flat[:4]).all()
    assert np.count_nonzero(array) == 12


def test_traces_and_sanitizers_take_them(loading):
    tensor = kernels.TensorMap(floats(8, 64), (4, 32))
    trace = loading.trace(1, 64, arguments(tensor), shared_mem=528)
    assert trace.shapes["map"] == (8, 64)
    assert loading.sanitize(1, 64, arguments(tensor), shared_mem=528) == ()


def test_the_array_of_a_map_may_count_as_not_written():
    """A finding names it as the map's parameter."""
    text = source(LOAD, 2).replace("int shift)", "int shift, const float* same, float* sum)")
    text = text.replace(
        "wait(bar, 0);", "wait(bar, 0);\n    sum[threadIdx.x] = same[64 + threadIdx.x];"
    )
    array = floats(8, 64)
    args = [*arguments(kernels.TensorMap(array, (4, 32))), array, np.zeros(64, np.float32)]
    kernel = kernels.Kernel(text, "load")
    found = kernel.sanitize(1, 64, args, shared_mem=528, uninitialised=[0])
    assert "map[1][0]" in [one.address for one in found if one.kind == "uninitialised"]
    assert kernel.sanitize(1, 64, args, shared_mem=528) == ()
    with pytest.raises(ValueError, match="not an array"):
        kernel.sanitize(1, 64, args, shared_mem=528, uninitialised=[3])


# -- on a GPU ---------------------------------------------------------------------------------


class Device:
    """Stands for a CuPy array, as far as kernels look at one."""

    def __init__(self, array: np.ndarray, address: int = 1 << 20, base=None):
        self.array, self.address, self.base = array, address, base

    def __getattr__(self, name):
        return getattr(self.array, name)


@pytest.fixture
def pretended(monkeypatch):
    """A GPU that keeps what it is asked, and does nothing."""
    asked = dict(maps=[], launches=[])
    replaced = {
        "is_device_array": lambda x: isinstance(x, Device),
        "address": lambda x: x.address if isinstance(x, Device) else x.ctypes.data,
        "available": lambda: True,
        "require": lambda: None,
        "current": lambda: -1,
        "arch": lambda: "sm_90",
        "load": lambda cubin, symbol: gpu.Loaded(symbol, None),
        "to_device": lambda x: Device(x.copy(), 4096 * len(x)),
        "to_host": lambda x: x.array,
        "launch": lambda *given: asked["launches"].append(given),
    }
    for name, function in replaced.items():
        monkeypatch.setattr(gpu, name, function)

    def encode(*given):
        asked["maps"].append(given)
        return bytes([len(asked["maps"])] * 128)

    monkeypatch.setattr(tensor_map, "encode", encode)
    return asked


def test_on_a_gpu_the_map_is_of_the_copy_there(pretended, loading):
    array = floats(16, 64)
    tensor = kernels.TensorMap(array[3:, 32:], (4, 32))
    args = arguments(tensor)
    loading(1, 64, args, shared_mem=528)
    assert pretended["maps"] == [(4096 * 16 + 3 * 256 + 128, tensor.tile)]
    ((_, _, _, given, _),) = pretended["launches"]
    assert given[0] == b"\1" * 128 and given[1].array is not args[1] and given[3] == 512


def test_on_a_gpu_arrays_of_the_gpu_stay_where_they_are(pretended, loading):
    whole = Device(floats(16, 64))
    part = Device(whole.array[2:, 16:], whole.address + 2 * 256 + 64, base=whole)
    tensor = kernels.TensorMap(part, (4, 32))
    assert tensor.memory is whole
    args = [tensor, *map(Device, arguments(tensor)[1:3]), 512, 512, 0]
    loading(1, 64, args, shared_mem=528)
    assert pretended["maps"] == [(part.address, tensor.tile)]
    with pytest.raises(ValueError, match="begins 8 bytes past a multiple of 16"):
        kernels.TensorMap(Device(floats(16, 64), 4104), (4, 32))
    with pytest.raises(TypeError, match="NumPy and CuPy arrays are mixed"):
        loading(1, 64, arguments(tensor), shared_mem=528)
    with pytest.raises(TypeError, match="takes NumPy arrays, not CuPy"):
        loading(1, 64, args, shared_mem=528, device="interpreter")


# -- the driver's -----------------------------------------------------------------------------


class Driver:
    """What cuTensorMapEncodeTiled was called with."""

    def __init__(self, result: int):
        self.result = result

    def __call__(self, name):
        self.name = name
        return self

    def cuTensorMapEncodeTiled(self, room, kind, rank, start, *rest):
        assert room.value % 64 == 0
        ctypes.memset(room.value, 0xAB, 128)
        arrays, options = rest[:4], rest[4:]
        self.given = [kind.value, rank.value, start.value, *map(list, arrays)]
        self.given += [option.value for option in options]
        return self.result


def test_what_the_driver_is_asked(monkeypatch):
    driver = Driver(0)
    monkeypatch.setattr(gpu, "require", lambda: None)
    monkeypatch.setattr(ctypes, "CDLL", driver)
    monkeypatch.setattr(tensor_map, "encode", tensor_map.encode.__wrapped__)  # which keeps nothing
    array = np.zeros((6, 10, 64), np.uint16)
    tensor = kernels.TensorMap(
        array, (2, 4, 32), dtype="bfloat16", swizzle=64, element_strides=(1, 2, 1), fill="nan",
    )  # fmt: skip
    assert tensor_map.encode(4096, tensor.tile) == b"\xab" * 128
    assert driver.given == [
        9, 3, 4096, [64, 10, 6], [128, 1280], [32, 4, 2], [1, 2, 1], 0, 2, 0, 1,
    ]  # fmt: skip
    one = kernels.TensorMap(np.zeros(8, np.float32), 4)
    tensor_map.encode(16, one.tile)
    assert driver.given == [7, 1, 16, [8], [0], [4], [1], 0, 0, 0, 0]
    driver.result = 1
    with pytest.raises(RuntimeError, match="CUDA error 1"):
        tensor_map.encode(16, one.tile)


def test_numbers_of_types_are_those_of_the_driver():
    """The order of CUtensorMapDataType in the toolkit's cuda.h."""
    from anywarp.compile import headers
    from anywarp.ptx.asynchronous.tensor_maps import ELEMENTS

    found = [path for path in headers.folders(12)[1:] if (path / "cuda.h").exists()]
    if not found:
        pytest.skip("there is no cuda.h of a toolkit")
    text = (found[0] / "cuda.h").read_text(encoding="utf-8", errors="replace")
    names = re.findall(r"CU_TENSOR_MAP_DATA_TYPE_(\w+)\s*(?:=\s*0)?,", text)[: len(ELEMENTS)]
    short = {"UINT": "u", "INT": "s", "FLOAT": "f", "BFLOAT": "bf"}
    assert [short[re.match("[A-Z]+", n)[0]] + re.search(r"\d+", n)[0] for n in names] == list(
        ELEMENTS
    )


@pytest.mark.gpu
@pytest.mark.parametrize("swizzle", (0, 32, 64, 128))
def test_a_gpu_copies_the_same(swizzle):
    if gpu.device().compute_capability < (9, 0):
        pytest.skip("tensor copies need a GPU of compute capability 9.0")
    shapes = {1: (300,), 2: (37, 128), 3: (5, 9, 64), 4: (3, 4, 5, 32), 5: (2, 3, 4, 5, 32)}
    for shape, back in itertools.product(shapes.values(), (False, True)):
        box = (*(min(3, n) for n in shape[:-1]), max(16, swizzle or 64) // 4)
        array, size = floats(*shape), room(box, 4, swizzle)
        # beyond the end, and into shared memory also before the beginning
        corner = (*(n - 2 for n in shape[:-1]), shape[-1] - 8)
        if not back:
            corner = (-8,) if len(shape) == 1 else (-1, *corner[1:])
        if not back:
            tensor = kernels.TensorMap(array, box, swizzle=swizzle)
            got = load(tensor, corner, tensor.tile.size, size, device="gpu")
            assert (got == in_shared(expected_box(array, corner, box), swizzle, size)).all()
            continue
        data, found = RNG.integers(0, 256, size, np.uint8), []
        for device in ("gpu", "interpreter"):
            copy = array.copy()
            store(kernels.TensorMap(copy, box, swizzle=swizzle), corner, data, device=device)
            found.append(copy.view(np.uint8))
        assert (found[0] == found[1]).all() and (found[0] != array.view(np.uint8)).any()
