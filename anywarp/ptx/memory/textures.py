"""Textures and surfaces: arrays that a kernel reaches by coordinates, and how textures are read.

Coordinates, sizes and modes of addressing stand innermost (x) first, as CUDA counts them.
CUDA C++ Programming Guide, appendix "Texture Fetching", has the formulas. What it leaves open was
measured on an H100, bit by bit, on a million samples: how coordinates and weights are rounded, what
lies outside, and with what precision texels are added up.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..aliases import Array

ADDRESSES = ("wrap", "clamp", "mirror", "border")  # in the order of the runtime's numbers
HANDLE = 5 << 40  # what a kernel gets for an image is this and the number of the argument
ONE = 256  # weights of linear filtering and places between texels have 8 bits of fraction
GUARD_BITS = 4  # that texels of floats have below the last bit of the largest
FAR = 2.0**40  # texels; coordinates beyond are as good as these
DIGITS = {2: (11, -24), 4: (24, -149)}  # of a float of so many bytes, and where its last bit may be
WHOLE = {"u1": 255, "i1": 127, "u2": 65535, "i2": 32767}  # what is 1.0 when read as a fraction


@dataclass(eq=False)
class Image:
    """An argument of a kernel: an array that reaches it as the 64-bit handle of a surface, or, if
    it is Sampled, of a texture."""

    memory: Any  # a C-contiguous array
    layered: bool  # its first axis counts layers, which are never blended
    channels: int  # the elements of a texel; if there are several, the last axis counts them

    @property
    def layers(self) -> int:
        return int(self.memory.shape[0]) if self.layered else 1

    @property
    def sizes(self) -> tuple[int, ...]:
        """Texels along each dimension."""
        shape = self.memory.shape[int(self.layered) : -1 if self.channels > 1 else None]
        return tuple(int(n) for n in shape[::-1])

    @property
    def row(self) -> int:
        """Bytes."""
        return self.sizes[0] * self.channels * int(self.memory.dtype.itemsize)


@dataclass(eq=False)
class Sampled(Image):
    """What a texture has besides: how it is sampled. `address` has a mode for each dimension: they
    are "clamp" or "border" if coordinates are not normalised, as on a GPU whatever is asked for."""

    linear_memory: bool  # read by tex1Dfetch alone, without modes and filters
    address: tuple[str, ...]
    linear: bool  # filtering
    normalized: bool  # coordinates go from 0 to 1
    fractions: bool  # whole numbers are read as those, -1 to 1

    @property
    def floats(self) -> bool:
        """What it reads as."""
        return self.fractions or self.memory.dtype.kind == "f"


Corner = tuple[tuple[int, ...], Array]  # 0 or 1 along each dimension, and a weight


class Held(NamedTuple):
    """Where an image lies in global memory."""

    image: Image
    start: int


def texels(x: Array, size: int, address: str, normalized: bool) -> Array:
    """A coordinate in texels, float64. One that is no number is 0."""
    x = np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=FAR, neginf=-FAR)
    if normalized:
        if address in ("wrap", "mirror"):
            x = x % 2
        # 22 bits were seen for 30,000 texels, 21 for 5,000 and less; between, it is a guess
        unit = 2.0 ** -max(21, 7 + (size - 1).bit_length())
        x = np.floor(x / unit) * unit * size
    return np.clip(x, -FAR, FAR)


def between(x: Array, size: int, address: str) -> Array:
    """A coordinate of texels as whole 256ths from the centre of the first one, int64."""
    fixed = np.floor(x * ONE + 0.5).astype(np.int64) - ONE // 2
    return np.clip(fixed, 0, (size - 1) * ONE) if address == "clamp" else fixed


def addressed(index: Array, size: int, address: str) -> tuple[Array, Any]:
    """The texel that stands for one of any number, and where there is one: others are 0."""
    if address == "wrap":
        return index % size, True
    if address == "mirror":
        index = index % (2 * size)
        return np.minimum(index, 2 * size - 1 - index), True
    within = np.clip(index, 0, size - 1)
    return within, (within == index) | (address == "clamp")


def read(image: Any, flat: Array, layer: Array, indices: Sequence[Array]) -> list[Array]:
    """The channels of texels. flat: the elements of the array, as they lie."""
    places = [addressed(*each) for each in zip(indices, image.sizes, image.address)]
    # an index beyond the last layer, as a negative one is, counts as the last
    number: Array = np.where((layer < 0) | (layer >= image.layers), image.layers - 1, layer)
    for (index, _), size in zip(places[::-1], image.sizes[::-1]):
        number = number * size + index
    inside = functools.reduce(np.logical_and, [within for _, within in places])
    first = number * image.channels
    return [np.where(inside, flat[first + n], flat.dtype.type(0)) for n in range(image.channels)]


def sample(image: Any, flat: Array, layer: Array, coordinates: Sequence[Array]) -> list[Array]:
    """The channels of a texture at coordinates: float32 if it reads as floats, else as they are."""
    axes = list(zip(coordinates, image.sizes, image.address))
    at = [texels(*each, image.normalized) for each in axes]
    if not image.linear:
        found = read(image, flat, layer, [np.floor(x).astype(np.int64) for x in at])
        return [as_float(image, x) for x in found] if image.floats else found
    fixed = [between(x, size, address) for x, (_, size, address) in zip(at, axes)]
    at_corner = lambda up: read(image, flat, layer, [(x >> 8) + n for x, n in zip(fixed, up)])
    weighed = weights([x & ONE - 1 for x in fixed])
    planes = [[(at_corner(up), weight) for up, weight in corners] for corners in weighed]
    return [
        blend(image, [[(found[n], weight) for found, weight in corners] for corners in planes])
        for n in range(image.channels)
    ]


def gather(
    image: Any, flat: Array, layer: Array, coordinates: Sequence[Array], channel: int
) -> list[Array]:
    """A channel of the four texels that linear filtering would blend, in the order of tld4."""
    axes = zip(coordinates, image.sizes, image.address)
    x, y = (between(texels(*each, image.normalized), 0, "") >> 8 for each in axes)
    found = [read(image, flat, layer, [x + i, y + j]) for i, j in ((0, 1), (1, 1), (1, 0), (0, 0))]
    found = [texel[channel : channel + 1] for texel in found]
    return [as_float(image, x) if image.floats else x for texel in found for x in texel]


def as_float(image: Image, value: Array) -> Array:
    """A texel that nothing is blended with, float32."""
    whole = WHOLE.get(image.memory.dtype.str[1:])
    return (value if whole is None else np.maximum(value / whole, -1)).astype(np.float32)


def weights(fractions: Sequence[Array]) -> list[list[Corner]]:
    """The corners of a cell of texels and what each weighs, by how far the cell's first texel is
    away, for each plane z.

    Weights are whole 256ths and 256 in all: they are split along z, then x, then y, and each time
    the part that is farther out along x and y is rounded, and the other one is what is left."""
    x, *others = fractions
    part = lambda weight, fraction: (weight * fraction + ONE // 2) >> 8
    planes = [ONE - others[1], others[1]] if len(others) == 2 else [np.array(ONE)]
    result: list[list[Corner]] = []
    for k, plane in enumerate(planes):
        right = part(plane, x)
        left = plane - right
        if not others:
            result.append([((0,), left), ((1,), right)])
            continue
        bottom, top = part(left, ONE - others[0]), part(right, others[0])
        four = ((0, 0, bottom), (0, 1, left - bottom), (1, 0, right - top), (1, 1, top))
        result.append([((i, j, k)[: len(fractions)], weight) for i, j, weight in four])
    return result


def blend(image: Image, planes: list[list[tuple[Array, Array]]]) -> Array:
    """The weighted sum of the texels of a cell, float32.

    Floats are cut off to a few bits below the largest of their plane, and the sum is rounded to
    their type, halves away from 0. Fractions are 16 bits before and after. Known to differ from
    an H100: 4 of 100 samples of signed bytes, by 1/32767, and, in their last bit, 2 of 46,000 in
    3-D whose planes nearly cancel. What infinite texels give has not been measured."""
    dtype = image.memory.dtype
    if dtype.kind != "f":
        bits, whole = dtype.str[1:], WHOLE[dtype.str[1:-1] + "2"]
        total: Any = sum(
            weight * np.maximum(value * (whole / WHOLE[bits]), -whole)
            for corners in planes
            for value, weight in corners
        )
        return np.asarray(np.floor(total / ONE + 0.5) / whole, np.float32)
    digits, least = DIGITS[dtype.itemsize]
    result: Any = 0.0
    for corners in planes:
        used = [np.where(weight, np.float64(value), 0.0) for value, weight in corners]
        largest = functools.reduce(np.maximum, map(np.abs, used))
        unit = np.ldexp(1.0, np.frexp(largest)[1] - digits - GUARD_BITS)
        cut = [np.where(np.isfinite(x), np.trunc(x / unit) * unit, x) for x in used]
        result = result + sum(x * weight for x, (_, weight) in zip(cut, corners)) / ONE
    unit = np.ldexp(1.0, np.maximum(np.frexp(result)[1] - digits, least))
    rounded = np.copysign(np.floor(np.abs(result) / unit + 0.5) * unit, result)
    return np.asarray(rounded, np.float32)
