"""Textures and surfaces as arguments of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import gpu
from .limits import one_of
from .ptx.memory.textures import ADDRESSES, WHOLE, Image, Sampled

KINDS = ("array", "layered", "linear")
ELEMENTS = (*WHOLE, "u4", "i4", "f2", "f4")  # as NumPy has them


class Surface(Image):
    """What cudaCreateSurfaceObject makes: an array that surf1Dread to surf3Dwrite reach.

    It is passed in the place of a cudaSurfaceObject_t, and what the kernel writes is written back
    to the array, which no other argument may share but a Texture or Surface of it. An access
    beyond its bounds, where the kernel asks for cudaBoundaryModeTrap as it does by default, is an
    error in the interpreter and a finding of `sanitize`.

    array: as a kernel takes them, C-contiguous, of 1 to 3 dimensions, x last; of 8-, 16- or 32-bit
    integers, float16 or float32.
    channels: 1, or 2 or 4 for short2, float4 and the like: the array's last axis counts them.
    kind: "array", or "layered", of 1 or 2 dimensions, with another axis before them.

    Raises TypeError or ValueError for what CUDA would refuse, but for its size. On a GPU, a launch
    copies the array into a CUDA array, and back; it refuses 1-D layers, which CuPy cannot make.
    """

    def __init__(self, array: Any, *, channels: int = 1, kind: str = "array"):
        one_of("kind", kind, KINDS[:2])
        super().__init__(_checked(array, channels, kind), kind == "layered", channels)

    def __repr__(self) -> str:
        return f"<Surface of {_words(self)}>"


class Texture(Sampled):
    """What cudaCreateTextureObject makes: an array that tex1D to tex3D, tex1DLayered,
    tex2DLayered, tex2Dgather and tex1Dfetch read.

    It is passed in the place of a cudaTextureObject_t. A kernel cannot write to its array, which
    no other argument may share but a Texture or Surface of it; the texture sees what the surface
    writes in the interpreter, which CUDA does not promise.

    array, channels: as of a Surface.
    kind: "array" or "layered" as of a Surface, or "linear", of one dimension, for tex1Dfetch,
    which reads no other and ignores what follows but `read`.
    address: what stands for texels outside: "clamp" the nearest one, "border" zero, "wrap" and
    "mirror" those of the repeated array, for normalized coordinates alone: without these, they
    clamp. One for each dimension, x first, or one for all.
    filter: "point", or "linear", which blends up to eight texels with weights of 8 bits. The bits
    are an H100's, but for the last of 16 of some blended int8.
    normalized: coordinates go from 0 to 1.
    read: "element", or "normalized": integers of 8 or 16 bits are read as fractions, float32.

    There are no cubemaps and no mipmaps; tex2DLod and tex2DGrad read what tex2D does. Raises
    TypeError or ValueError for what CUDA would refuse, but for its size. On a GPU, a launch copies
    the array into a CUDA array, if it is not linear; it refuses 1-D layers, which CuPy cannot make.
    """

    def __init__(
        self,
        array: Any,
        *,
        address: str | Sequence[str] = "clamp",
        filter: str = "point",
        normalized: bool = False,
        read: str = "element",
        channels: int = 1,
        kind: str = "array",
    ):
        one_of("kind", kind, KINDS)
        one_of("filter", filter, ("point", "linear"))
        one_of("read", read, ("element", "normalized"))
        array = _checked(array, channels, kind)
        plain = kind == "linear"
        super().__init__(
            array, kind == "layered", channels, plain, (), filter == "linear" and not plain,
            normalized and not plain, read == "normalized",
        )  # fmt: skip
        rank = len(self.sizes)
        self.address = (address,) * rank if isinstance(address, str) else tuple(address)
        for each in self.address:
            one_of("address", each, ADDRESSES)
        if len(self.address) != rank:
            raise ValueError(f"address has {len(self.address)} modes for {rank} dimensions")
        if not self.normalized:
            fixed = {"wrap": "clamp", "mirror": "clamp"}
            self.address = ("border",) if plain else tuple(fixed.get(x, x) for x in self.address)
        if self.fractions and array.dtype.str[1:] not in WHOLE:
            raise ValueError(f'read="normalized" is for 8 or 16 bits, not {array.dtype}')
        if self.linear and not self.floats:
            raise ValueError(
                f'filter="linear" gives floats, and the array is of {array.dtype}: '
                'read="normalized" reads 8 or 16 bits as fractions'
            )

    def __repr__(self) -> str:
        how = ["linear" if self.linear else "point", *dict.fromkeys(self.address)]
        how += ["normalized"] * self.normalized + ["read as fractions"] * self.fractions
        return f"<Texture of {_words(self)}, {', '.join(how)}>"


def _words(image: Image) -> str:
    """What an image is of."""
    size = " x ".join(map(str, image.sizes[::-1]))
    channels = f" with {image.channels} channels" if image.channels > 1 else ""
    layers = f", {image.layers} layers" if image.layered else ""
    memory = ", linear memory" if getattr(image, "linear_memory", False) else ""
    return f"{image.memory.dtype} {size}{channels}{layers}{memory}"


def _checked(array: Any, channels: int, kind: str) -> Any:
    """The array, as NumPy or CuPy have it. Raises TypeError or ValueError."""
    if not gpu.is_shared(array):
        raise TypeError(f"a texture or surface is of an array, not of a {type(array).__name__}")
    array = gpu.as_array(array)
    one_of("channels", channels, (1, 2, 4))
    if array.dtype.str[1:] not in ELEMENTS or not array.dtype.isnative:
        raise TypeError(
            f"a texture or surface has integers of 8, 16 or 32 bits, float16 or float32, not "
            f"{array.dtype}: a double is x.view(np.int32) with channels=2"
        )
    if not array.flags.c_contiguous:
        raise ValueError("the array is not C-contiguous (a transpose or a slice?): pass a copy")
    if channels > 1 and (array.ndim < 2 or array.shape[-1] != channels):
        raise ValueError(f"channels={channels}: the last axis of {array.shape} must have as many")
    rank = array.ndim - (channels > 1) - (kind == "layered")
    most = {"array": 3, "layered": 2, "linear": 1}[kind]
    if not 1 <= rank <= most or array.size == 0:
        axes = ["layers first"] * (kind == "layered") + ["channels last"] * (channels > 1)
        raise ValueError(
            f"kind={kind!r} has 1 to {most} dimensions and at least one texel, not the shape "
            f"{array.shape} ({' and '.join(axes) or 'without channels'})"
        )
    return array
