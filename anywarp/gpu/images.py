"""Textures and surfaces on a GPU: CuPy's objects, made for one launch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..ptx.memory.textures import ADDRESSES, Image, Sampled
from . import synchronize

LAYERED, SURFACE, GATHER = 1, 2, 8  # flags of cudaMalloc3DArray


@contextmanager
def handles(values: Sequence[Any], args: Sequence[Any]) -> Iterator[list[Any]]:
    """The arguments `args` of a launch, with a handle for each Image among `values`: what is given
    for an image is its array on the current device. Afterwards, once the kernel is done, surfaces
    are copied back into it. An array that several images share becomes one CUDA array."""
    images = {n: x for n, x in enumerate(values) if isinstance(x, Image)}
    surfaces = {n: x for n, x in images.items() if not isinstance(x, Sampled)}
    written = {id(args[n]) for n in surfaces}
    key = {n: (id(args[n]), x.layered, x.channels) for n, x in images.items()}
    arrays: dict[tuple[Any, ...], Any] = {}
    objects: dict[int, Any] = {}
    for n, image in images.items():
        if key[n] not in arrays and not getattr(image, "linear_memory", False):
            arrays[key[n]] = _cuda_array(image, args[n], id(args[n]) in written)
        objects[n] = _object(image, args[n], arrays.get(key[n]))
    yield [np.uint64(objects[n].ptr) if n in objects else x for n, x in enumerate(args)]
    if objects:
        synchronize()  # before they are destroyed
    for n, image in surfaces.items():
        arrays[key[n]].copy_to(_flat(image, args[n]))


def _flat(image: Image, array: Any) -> Any:
    """The array as CuPy copies it: channels are a part of the rows."""
    return array.reshape(*array.shape[:-2], -1) if image.channels > 1 else array


def _format(image: Image, array: Any) -> Any:
    """Of a texel."""
    from cupy.cuda import runtime, texture

    kinds = {
        "i": runtime.cudaChannelFormatKindSigned,
        "u": runtime.cudaChannelFormatKindUnsigned,
        "f": runtime.cudaChannelFormatKindFloat,
    }
    bits = [8 * array.dtype.itemsize * (n < image.channels) for n in range(4)]
    return texture.ChannelFormatDescriptor(*bits, kinds[array.dtype.kind])


def _cuda_array(image: Image, array: Any, written: bool) -> Any:
    """A copy, to be read by coordinates."""
    from cupy.cuda import texture

    width, height, depth = (*image.sizes, 0, 0)[:3]
    if image.layered:
        depth = image.layers
    if depth and not height:  # and of layers with one row, 1-D instructions read zeros (an H100)
        raise ValueError(
            "CuPy makes no CUDA array of 1-D layers: on a GPU, pass 2-D layers of height 1 to a "
            'kernel that takes those; device="interpreter" takes both'
        )
    flags = LAYERED * image.layered + SURFACE * written
    flags += GATHER * (len(image.sizes) == 2 and not written and not image.layered)
    made = texture.CUDAarray(_format(image, array), width, height, depth, flags)
    made.copy_from(_flat(image, array))
    return made


def _object(image: Image, array: Any, made: Any) -> Any:
    """The texture or surface of a CUDA array, or, where there is none, of the array itself."""
    from cupy.cuda import runtime, texture

    if made is not None:
        source = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=made)
    else:
        source = texture.ResourceDescriptor(
            runtime.cudaResourceTypeLinear,
            arr=array,
            chDesc=_format(image, array),
            sizeInBytes=array.nbytes,
        )
    if not isinstance(image, Sampled):
        return texture.SurfaceObject(source)
    # a 1-D texture is one texel high: with a border, half of it would be blended in
    modes = (*image.address, "clamp", "clamp")[:3]
    how = texture.TextureDescriptor(
        tuple(map(ADDRESSES.index, modes)),
        runtime.cudaFilterModeLinear if image.linear else runtime.cudaFilterModePoint,
        runtime.cudaReadModeNormalizedFloat if image.fractions else runtime.cudaReadModeElementType,
        normalizedCoords=int(image.normalized),
    )
    return texture.TextureObject(source, how)
