"""Matrix descriptors: which bytes of shared memory wgmma takes for the elements of a matrix.

A descriptor is 64 bits that say where a tile of A or B begins and how it goes on. Its smallest
piece is a unit of 16 bytes: 16 bytes of consecutive k of one row of A (or one column of B), if the
tile is K-major, or of consecutive rows for one k, if it is MN-major. Eight units are a core matrix.
Two offsets lead from one piece to the next, called leading and stride; what each of them counts
depends on the layout, with S units in the swizzle's width (1 without one, else 2, 4 or 8):

    K-major: eight rows lie one after another, S units apart; `stride` leads to the next eight
    rows; the second unit of a row follows the first one, or, without a swizzle, is `leading`
    bytes behind it.

    MN-major, without a swizzle: the units of eight k lie one after another; `leading` leads to the
    next eight k, `stride` to the next unit of rows.

    MN-major, with a swizzle: S units of rows lie one after another, then those of the next k, for
    eight k; `stride` leads to the next eight k, `leading` to the next S units of rows.

The swizzle then exchanges units by the address itself, wherever the tile begins (see `swizzle`).
One wgmma has 32 bytes of k. Bits of a descriptor outside of its fields, and the base offset where
there is no swizzle, do not count: checked on an H200, as is the base offset with a swizzle, which
is subtracted from the bits of the address that the pattern goes by.
PTX ISA: "Asynchronous warpgroup level matrix shared memory layout", "Strides" and
"Matrix-descriptor format" of wgmma.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ..aliases import Array
from ..memory.swizzle import UNIT, swizzled

MODES = (0, 128, 64, 32)  # bits 62 and 63: bytes of the swizzle
CORE = 8  # units of a core matrix
DEPTH = 32  # bytes of k of one wgmma


class Descriptor(NamedTuple):
    """The fields of a matrix descriptor, in bytes: start address, leading and stride offset are
    multiples of 16 below 2^18. `base` is 0 to 7, of use only with a swizzle whose pattern does not
    start at a multiple of its length: the bits 7 to 9 of the address where it does."""

    start: int
    leading: int
    stride: int
    base: int = 0
    swizzle: int = 0  # bytes: 0, 32, 64 or 128

    def __str__(self) -> str:
        swizzle = f"{self.swizzle}-byte swizzle" if self.swizzle else "no swizzle"
        return (
            f"start address {self.start:#x}, leading offset {self.leading}, stride offset "
            f"{self.stride}, base offset {self.base}, {swizzle}"
        )


def decoded(bits: int) -> Descriptor:
    """The descriptor in the 64 bits that a kernel hands to wgmma, without the bits of no field."""
    start, leading, stride = (bits >> at & 0x3FFF for at in (0, 16, 32))
    return Descriptor(16 * start, 16 * leading, 16 * stride, bits >> 49 & 7, MODES[bits >> 62])


def tile_addresses(
    descriptor: Descriptor, rows: int, k: int, element: int, major: str = "K"
) -> Array:
    """The byte address in shared memory of each element of a tile, int64 (rows, k).

    rows: of A, or columns of B: a multiple of 8. k: elements of one wgmma, which have 32 bytes.
    element: bytes of one. major: "K" or "MN", which is the direction whose elements are
    neighbours; the hardware has "MN" for elements of two bytes only.
    """
    starts = units(descriptor, rows, k, element, major)
    inside = np.arange(0, UNIT, element)
    each = (starts[..., None] + inside).reshape(len(starts), -1)
    return each if major == "K" else each.T


@functools.lru_cache(maxsize=1024)
def units(descriptor: Descriptor, rows: int, k: int, element: int, major: str) -> Array:
    """The byte address of each unit: (rows, 2) of a K-major tile, (k, rows of 16 bytes) of an
    MN-major one. Not to be written to."""
    start, leading, stride, base, swizzle = descriptor
    across = max(1, swizzle // UNIT)  # units of the swizzle's width
    if major == "K":
        row, unit = np.ix_(range(rows), range(k * element // UNIT))
        step = UNIT if swizzle else leading
        offset = row % CORE * across * UNIT + row // CORE * stride + unit * step
    else:
        depth, unit = np.ix_(range(k), range(rows * element // UNIT))
        near, far = unit % across * UNIT, unit // across
        eighths, eights = depth % CORE * across * UNIT, depth // CORE
        far_step, deep_step = (leading, stride) if swizzle else (stride, leading)
        offset = near + far * far_step + eighths + eights * deep_step
    addresses = np.asarray(swizzled(start + offset.astype(np.int64), swizzle, base << 7))
    addresses.flags.writeable = False
    return addresses


@functools.lru_cache(maxsize=1024)
def stretches(
    descriptor: Descriptor, rows: int, k: int, element: int, major: str
) -> tuple[Array, Array]:
    """The bytes of a tile as few stretches: where they start and how many they are, int64."""
    return merged(units(descriptor, rows, k, element, major))


def merged(addresses: Array) -> tuple[Array, Array]:
    """The same of any units, given by their addresses."""
    addresses = np.unique(addresses)
    first = np.flatnonzero(np.diff(addresses, prepend=-2 * UNIT) != UNIT)
    return addresses[first], np.diff(first, append=len(addresses)) * UNIT
