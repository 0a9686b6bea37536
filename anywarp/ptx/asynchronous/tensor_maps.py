"""Tensor maps: what a tensor copy knows of an array in global memory, in 128 bytes.

What NVIDIA has in them is not documented; those of a run in the interpreter are its own. Here
dimensions stand innermost first, as PTX counts them.
PTX ISA, chapter 5.5 (tensors); CUDA driver API, cuTensorMapEncodeTiled.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..aliases import Array
from ..memory.swizzle import SWIZZLES, UNIT, swizzled
from ..memory.textures import Image

BYTES, ALIGNMENT = 128, 64  # of a tensor map in memory
ELEMENTS = {  # types of elements, in the order of the driver's numbers: bytes
    "u8": 1, "u16": 2, "u32": 4, "s32": 4, "u64": 8, "s64": 8, "f16": 2, "f32": 4, "f64": 8,
    "bf16": 2,
}  # fmt: skip
NAN = b"\xf7\x7f"  # of which a NaN outside of the array consists, whatever the type
MAX_RANK = 5
MOST_BYTES = 227 << 10  # of a box: the shared memory of a block
CODES = (*range(8), 9, 10)  # of ELEMENTS, as tensormap.replace numbers them
_MARK = 0x7E450000 - 1  # the rank is added to it
_FORMAT = f"<2IQ{MAX_RANK - 1}Q{MAX_RANK}I{MAX_RANK}I{MAX_RANK}I4I"
# where each field is that tensormap.replace changes, and what is added to a value
FIELDS = {
    "rank": (0, _MARK + 1), "elemtype": (4, 0), "global_address": (8, 0), "global_stride": (16, 0),
    "global_dim": (48, 0), "box_dim": (68, 0), "element_stride": (88, 0), "swizzle_mode": (108, 0),
    "fill_mode": (112, 0), "interleave_layout": (116, 0), "swizzle_atomicity": (120, 0),
}  # fmt: skip


class Tile(NamedTuple):
    """What a tensor map says but for the address. Tuples have a number for each dimension."""

    kind: str  # of ELEMENTS
    sizes: tuple[int, ...]  # elements of the array
    strides: tuple[int, ...]  # bytes between neighbours; of the innermost, those of an element
    box: tuple[int, ...]  # elements that a copy spans
    steps: tuple[int, ...]  # it takes each of these, or every second, third …
    swizzle: int  # bytes, 0 for none
    nan: bool  # elements outside of the array are NaN, else 0

    @property
    def rank(self) -> int:
        return len(self.sizes)

    @property
    def width(self) -> int:
        """Bytes of an element."""
        return ELEMENTS[self.kind]

    @property
    def counts(self) -> tuple[int, ...]:
        """Elements that a copy takes."""
        return tuple(-(-span // step) for span, step in zip(self.box, self.steps))

    @property
    def size(self) -> int:
        """Bytes that a copy brings, be they in the array or not."""
        return math.prod(self.counts) * self.width

    @property
    def pitch(self) -> int:
        """Bytes from row to row in shared memory: a swizzled row is as long as the swizzle."""
        return max(self.counts[0] * self.width, self.swizzle)

    @property
    def extent(self) -> int:
        """Bytes in shared memory from the first to the last."""
        return math.prod(self.counts[1:]) * self.pitch

    def packed(self, address: int) -> bytes:
        """The tensor map of an array that begins at this address."""
        filled = lambda numbers, count=MAX_RANK: (*numbers, *[0] * (count - len(numbers)))
        sizes = filled([n & 0xFFFFFFFF for n in self.sizes])  # 0 stands for 2**32
        extents = *sizes, *filled(self.box), *filled(self.steps)
        first = _MARK + self.rank, dict(zip(ELEMENTS, CODES))[self.kind], address
        last = SWIZZLES.index(self.swizzle), self.nan, 0, 0
        data = struct.pack(_FORMAT, *first, *filled(self.strides[1:], 4), *extents, *last)
        return data.ljust(BYTES, b"\0")


def unpack(data: bytes) -> tuple[int, Tile] | None:
    """The address and the rest; None if the bytes are no tensor map that a GPU takes."""
    mark, code, address, *fields = struct.unpack_from(_FORMAT, data)
    kind, rank = dict(zip(CODES, ELEMENTS)).get(code), mark - _MARK
    swizzle, nan, *others = fields[-4:]
    if not 1 <= rank <= MAX_RANK or kind is None or swizzle >= len(SWIZZLES) or nan > 1:
        return None
    strides = ELEMENTS[kind], *fields[: rank - 1]
    sizes, box, steps = (tuple(fields[n : n + rank]) for n in (4, 9, 14))
    sizes = tuple(n or 1 << 32 for n in sizes)
    tile = Tile(kind, sizes, strides, box, steps, SWIZZLES[swizzle], bool(nan))
    fine = 1 <= min(box) and max(box) <= 256 and 1 <= min(steps) and max(steps) <= 8
    fine = fine and steps[0] == 1 and not any(others) and tile.size <= MOST_BYTES
    row = box[0] * tile.width
    aligned = not any(n % UNIT for n in (address, row, *strides[1:]))
    return (address, tile) if fine and aligned and not 0 < tile.swizzle < row else None


@dataclass(eq=False)
class Mapped:
    """An argument of a kernel: an array in global memory, which reaches the kernel as the tensor
    map of a part of it."""

    memory: Any  # a C-contiguous array
    offset: int  # bytes to where the part begins
    tile: Tile


def memory_of(value: Any) -> Any:
    """What an argument of a kernel has in memory, or the argument itself."""
    return value.memory if isinstance(value, (Mapped, Image)) else value


# -- where the elements of a copy lie ---------------------------------------------------------


def global_addresses(tile: Tile, start: int, corner: Array) -> tuple[Array, Array]:
    """The addresses in global memory of the elements of N copies, and which of them are in the
    array. (N, rows, elements of a row).

    corner: int64 (N, rank), the coordinates of each first element."""
    address: Any = np.int64(start)
    inside: Any = np.bool_(True)
    for axis, (size, stride, count, step) in enumerate(
        zip(tile.sizes, tile.strides, tile.counts, tile.steps)
    ):
        position = corner[:, axis, None] + np.arange(count) * step
        shape = (len(corner), *(1,) * (tile.rank - 1 - axis), count, *(1,) * axis)
        position = position.reshape(shape)
        address = address + position * stride
        inside = inside & (position >= 0) & (position < size)
    shape = (len(corner), math.prod(tile.counts[1:]), tile.counts[0])
    return address.reshape(shape), inside.reshape(shape)


def shared_addresses(tile: Tile, address: Array) -> Array:
    """The addresses in shared memory of the elements of N copies. (N, rows, elements of a row)."""
    rows = np.arange(math.prod(tile.counts[1:]), dtype=np.int64)[:, None] * tile.pitch
    row = np.arange(tile.counts[0]) * tile.width
    return swizzled(address[:, None, None] + (rows + row), tile.swizzle)


def outside(tile: Tile) -> np.generic:
    """What stands for an element outside of the array, as an unsigned number."""
    data = NAN * (tile.width // 2) if tile.nan else bytes(tile.width)
    return np.frombuffer(data, f"u{tile.width}")[0]
