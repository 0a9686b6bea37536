"""Tensor maps as arguments of kernels: an array, and the box of it that a tensor copy moves."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import gpu
from .limits import SHARED, one_of
from .ptx.asynchronous.tensor_maps import ALIGNMENT, BYTES, ELEMENTS, MAX_RANK, Mapped, Tile
from .ptx.memory.swizzle import SWIZZLES

__all__ = ["BYTES", "Mapped", "TensorMap", "Tile", "encode"]

UNIT = 16  # bytes that addresses, strides and the innermost extent of a box are multiples of
MOST_SIZE, MOST_BOX, MOST_STEP = 1 << 32, 256, 8
FILLS = ("zeros", "nan")
NUMPY = {  # dtypes and what the driver calls them
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "int32": "s32", "uint64": "u64",
    "int64": "s64", "float16": "f16", "float32": "f32", "float64": "f64",
}  # fmt: skip


class TensorMap(Mapped):
    """What cuTensorMapEncodeTiled makes: an array as cp.async.bulk.tensor sees it.

    It is passed in the place of a `const __grid_constant__ CUtensorMap` (of `#include <cuda.h>`),
    and the array counts as an argument: it is written back, and must be apart from the others.

    array: as a kernel takes them, of 1 to 5 dimensions, innermost last, as NumPy has them. CUDA
    counts the dimensions of the map, and the coordinates of a copy, innermost first. It may be a
    part of a larger array, `A[:, 64:]`.
    box: the elements that a copy spans along each dimension. The coordinates of a copy say where
    it begins: the innermost must be a multiple of 16 bytes, so of 4 for float32 and of 8 for
    float16, or the GPU stops with "illegal instruction". They may lie outside of the array, and
    be negative where the copy is into shared memory.
    dtype: "bfloat16" for an array of uint16 that holds those.
    swizzle: 0, 32, 64 or 128: the order of 16-byte units in shared memory.
    element_strides: a copy takes every so many elements of its box along each dimension.
    fill: "zeros" or "nan", what elements outside of the array read as.

    Raises TypeError or ValueError, in words, for what the driver would refuse with a number.
    """

    def __init__(
        self,
        array: Any,
        box: int | Sequence[int],
        *,
        dtype: str | None = None,
        swizzle: int = 0,
        element_strides: int | Sequence[int] = 1,
        fill: str = "zeros",
    ):
        if not gpu.is_shared(array):
            raise TypeError(f"a tensor map is of an array, not of a {type(array).__name__}")
        array = gpu.as_array(array)
        kind = _kind(array, dtype)
        rank, width = array.ndim, ELEMENTS[kind]
        if not 1 <= rank <= MAX_RANK:
            raise ValueError(f"a tensor map is of 1 to {MAX_RANK} dimensions, the array has {rank}")
        one_of("swizzle", swizzle, SWIZZLES)
        one_of("fill", fill, FILLS)
        if fill == "nan" and kind not in ("f16", "bf16", "f32", "f64"):
            raise ValueError(f'fill="nan" is for floating-point numbers, not {array.dtype}')
        sizes = _numbers("the array's shape", array.shape, rank, 1, MOST_SIZE)
        box = _numbers("box", box, rank, 1, MOST_BOX)
        steps = _numbers("element_strides", element_strides, rank, 1, MOST_STEP)
        if steps[-1] != 1:
            raise ValueError("element_strides: along the innermost dimension it must be 1")
        _check_row(box[-1] * width, swizzle)
        apart = _strides(array, width)
        memory, offset = _memory(array)
        _check_start(memory, offset)
        sizes, apart, box, steps = (x[::-1] for x in (sizes, apart, box, steps))
        tile = Tile(kind, sizes, apart, box, steps, swizzle, fill == "nan")  # innermost first
        if tile.size > SHARED:
            raise ValueError(
                f"the box is {tile.size} bytes: a block has at most {SHARED} of shared memory"
            )
        super().__init__(memory, offset, tile)

    def __repr__(self) -> str:
        tile = self.tile
        shape, box = tile.sizes[::-1], tile.box[::-1]
        return f"<TensorMap of .{tile.kind} {shape}, box {box}, swizzle {tile.swizzle}>"

    def encoded(self, memory: Any) -> bytes:
        """The driver's 128 bytes; `memory` is a CuPy array with what `self.memory` has."""
        return encode(gpu.address(memory) + self.offset, self.tile)


@functools.lru_cache(maxsize=1024)  # a pool of memory gives the same addresses again
def encode(start: int, tile: Tile) -> bytes:
    """The CUtensorMap of a tensor at an address, from the driver's cuTensorMapEncodeTiled.

    Called in the driver's own library, since CuPy has no function for it; ELEMENTS and SWIZZLES
    are in the order of the driver's numbers. Raises NoGPU, and RuntimeError when the
    driver refuses it.
    """
    gpu.require()
    room = ctypes.create_string_buffer(BYTES + ALIGNMENT)
    at = -(-ctypes.addressof(room) // ALIGNMENT) * ALIGNMENT
    result = gpu.driver_library().cuTensorMapEncodeTiled(
        ctypes.c_void_p(at),
        ctypes.c_int(list(ELEMENTS).index(tile.kind)),
        ctypes.c_uint32(tile.rank),
        ctypes.c_void_p(start),
        _numbers_of(ctypes.c_uint64, tile.sizes),
        _numbers_of(ctypes.c_uint64, tile.strides[1:] or (0,)),  # the innermost is an element's
        _numbers_of(ctypes.c_uint32, tile.box),
        _numbers_of(ctypes.c_uint32, tile.steps),
        ctypes.c_int(0),  # not interleaved
        ctypes.c_int(SWIZZLES.index(tile.swizzle)),
        ctypes.c_int(0),  # L2 fetches no more than is asked for
        ctypes.c_int(tile.nan),
    )
    if result != 0:
        raise RuntimeError(f"cuTensorMapEncodeTiled fails with CUDA error {result} for {tile}")
    return ctypes.string_at(at, BYTES)


def _numbers_of(kind: Any, numbers: Sequence[int]) -> Any:
    """Numbers as an array of C."""
    return (kind * len(numbers))(*numbers)


def _kind(array: Any, dtype: str | None) -> str:
    """What the driver calls the type of the elements; raises ValueError or TypeError for others."""
    if dtype not in (None, "bfloat16"):
        raise ValueError(f'dtype is "bfloat16", or left to the array, not {dtype!r}')
    if dtype is not None:
        if array.dtype != np.uint16:
            raise TypeError(f'dtype="bfloat16" is for an array of uint16, not {array.dtype}')
        return "bf16"
    if array.dtype.name not in NUMPY or not array.dtype.isnative:
        raise TypeError(
            f"a tensor map has no type for {array.dtype}: it knows {', '.join(NUMPY)}, and "
            'bfloat16 as uint16 with dtype="bfloat16"; x.view(np.uint8) is the bytes as they are'
        )
    return NUMPY[array.dtype.name]


def _numbers(name: str, given: Any, rank: int, low: int, high: int) -> tuple[int, ...]:
    """One whole number for each dimension; a single one stands for all."""
    numbers = (given,) * rank if isinstance(given, (int, np.integer)) else tuple(given)
    if len(numbers) != rank:
        raise ValueError(f"{name} has {len(numbers)} numbers for {rank} dimensions: {numbers}")
    for number in numbers:
        if not isinstance(number, (int, np.integer)):
            raise TypeError(f"{name} must be whole numbers, not {number!r}")
        if not low <= number <= high:
            raise ValueError(f"{name} must be {low} to {high} along each dimension, not {number}")
    return tuple(int(number) for number in numbers)


def _check_row(row: int, swizzle: int) -> None:
    """row: bytes of the innermost extent of the box."""
    if row % UNIT:
        raise ValueError(
            f"the innermost extent of the box is {row} bytes, and must be a multiple of {UNIT}"
        )
    if swizzle and row > swizzle:
        raise ValueError(
            f"the innermost extent of the box is {row} bytes, and a swizzle of {swizzle} takes "
            f"{swizzle} at most"
        )


def _strides(array: Any, width: int) -> tuple[int, ...]:
    """The array's strides. Along a dimension of one element, NumPy may have any: then it is one
    that the driver takes."""
    strides = list(array.strides)
    if strides[-1] != width:
        raise ValueError(
            f"the elements of the innermost dimension are {strides[-1]} bytes apart: they must "
            f"follow one another, every {width} (a transpose? pass a copy)"
        )
    for axis in range(array.ndim - 2, -1, -1):
        if array.shape[axis] == 1:
            within = strides[axis + 1] * array.shape[axis + 1]
            strides[axis] = -(-within // UNIT) * UNIT
        elif strides[axis] % UNIT or strides[axis] <= 0:
            raise ValueError(
                f"rows of the array are {strides[axis]} bytes apart: it must be a positive "
                f"multiple of {UNIT}, so pad the rows"
            )
    return tuple(strides)


def _memory(array: Any) -> tuple[Any, int]:
    """The C-contiguous array that this one is, or is a part of, and where in it, in bytes."""
    if array.flags.c_contiguous:
        return array, 0
    whole = array
    while isinstance(whole.base, type(array)):
        whole = whole.base
    if not whole.flags.c_contiguous:
        raise ValueError("the array is a part of one that is not C-contiguous: pass a copy")
    offset = gpu.address(array) - gpu.address(whole)
    if isinstance(array, np.ndarray) and not array.flags.writeable:
        whole = whole.view()
        whole.flags.writeable = False
    return whole, offset


def _check_start(memory: Any, offset: int) -> None:
    """NumPy's arrays are copied to where they are aligned; CuPy's stay where they are."""
    start = offset if isinstance(memory, np.ndarray) else gpu.address(memory) + offset
    if start % UNIT:
        raise ValueError(
            f"the array begins {start % UNIT} bytes past a multiple of {UNIT}: it must begin at one"
        )
