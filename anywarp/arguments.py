"""Arguments of a launch: a converter for each parameter, chosen once when a kernel is made.

The PTX says how many bytes a parameter has and of what kind; the CUDA source, where it can be
read, its name and what a pointer leads to, so that a wrong dtype is refused in words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import gpu
from .ptx.asynchronous.tensor_maps import BYTES, Mapped
from .ptx.memory.textures import Image
from .ptx.text.syntax import TYPE_BYTES
from .trace.parameters import Parameter

Converter = Callable[[Any], Any]
WHOLE = (bool, np.bool_, int, np.integer)
REAL = (*WHOLE, float, np.floating)
IMAGES = {"cudaTextureObject_t": "Texture", "cudaSurfaceObject_t": "Surface"}
KINDS = {"b": "int", "i": "int", "u": "int", "f": "float", "c": "complex", "V": "struct"}


class Declared(NamedTuple):
    """A parameter as the PTX declares it: `.u64`, `.f32`, `.b8` for a struct; `size` in bytes."""

    type: str
    size: int


def declared(text: str, symbol: str) -> tuple[Declared, ...]:
    """The parameters of an entry, read from the PTX without the rest of it: what the interpreter
    cannot parse still runs on a GPU."""
    match = re.search(rf"\.entry\s+{re.escape(symbol)}\s*(?:\(([^)]*)\))?", text)
    params = []
    for part in filter(str.strip, (match[1] or "").split(",")) if match else ():
        kind = re.search(rf"\.({'|'.join(TYPE_BYTES)})\b", part)
        extent = re.search(r"\[(\d+)\]\s*$", part)
        if kind is None:
            raise ValueError(f"{symbol} has a parameter that cannot be passed: {part.strip()}")
        size = TYPE_BYTES[kind[1]] * int(extent[1] if extent else 1)
        params.append(Declared("b8" if extent else kind[1], size))  # an array is bytes
    return tuple(params)


def converter(param: Any, known: Parameter | None = None) -> Converter:
    """The function that checks and converts an argument for this parameter.

    It gives a NumPy scalar, bytes (a struct), a tensor map, a texture or surface, or an array, and
    raises TypeError, ValueError or OverflowError with a reason that lacks the argument's name.
    """
    kind = param.type[0]  # u, s, f or b, as in PTX
    pointer = kind in "usb" and param.size == 8
    if kind == "b":
        scalar = _raw(param)
    elif kind == "f":
        scalar = _float(param, np.dtype(f"f{param.size}").type)
    else:
        scalar = _integer(param, np.dtype(f"{'i' if kind == 's' else 'u'}{param.size}").type)
    return (
        _pointer(scalar, known) if pointer else _value(scalar, kind == "b" and param.size == BYTES)
    )


def _value(scalar: Converter, mapped: bool) -> Converter:
    """mapped: it may be a tensor map."""
    instead = ": for a CUtensorMap, pass anywarp.TensorMap(array, box)" if mapped else ""

    def convert(value: Any) -> Any:
        if gpu.is_shared(value):
            raise TypeError(
                f"is an array, but the kernel takes a value here, not a pointer{instead}"
            )
        if mapped and isinstance(value, Mapped):
            return value
        return scalar(value)

    return convert


def _pointer(scalar: Converter, known: Parameter | None) -> Converter:
    """For a pointer: arrays, and what `scalar` takes for an address as a number."""
    fine: set[np.dtype[Any]] = set()  # dtypes seen before and found good
    text = known.text if known else ""
    image = next((kind for name, kind in IMAGES.items() if name in text and "*" not in text), "")

    def convert(value: Any) -> Any:
        on_host = isinstance(value, np.ndarray)
        if isinstance(value, Image) or (image and gpu.is_shared(value)):
            given = type(value).__name__
            if given != image and (image or "*" in text):
                instead = f"anywarp.{image}(array)" if image else "the array itself"
                raise TypeError(f"is a {given}, but the kernel takes {text}: pass {instead}")
            return value
        if not on_host and not gpu.is_device_array(value):
            if not gpu.is_shared(value):
                return scalar(value)
            value = gpu.as_array(value)
            on_host = isinstance(value, np.ndarray)
        if is_masked(value):
            raise TypeError("is a masked array, and a kernel knows no masks: pass x.filled(0)")
        if value.dtype not in fine:
            check_dtype(value.dtype, known)
            fine.add(value.dtype)
        contiguous = value.flags.c_contiguous
        if not on_host and contiguous:
            return value
        if on_host and not value.flags.writeable:
            return _read_only(value)
        if not contiguous:
            raise ValueError(
                "is not C-contiguous (a transpose or a slice?): pass a copy in C order"
            )
        return value.reshape(1) if value.ndim == 0 else value

    return convert


def is_masked(value: Any) -> bool:
    """Whether this is one of `np.ma`, whose mask a kernel would not see."""
    return type(value) is not np.ndarray and isinstance(value, np.ma.MaskedArray)


def _read_only(value: np.ndarray) -> np.ndarray:
    """As it is, or a copy where it is not contiguous: nothing is written back to it."""
    held = np.ascontiguousarray(value)  # of one dimension at least
    if held.flags.writeable:
        held.flags.writeable = False
    return held


def check_dtype(dtype: np.dtype[Any], known: Parameter | None) -> None:
    """Raise TypeError for an array of a dtype that the parameter does not lead to."""
    if dtype.kind not in KINDS or dtype.hasobject:
        raise TypeError(f"has dtype {dtype}, which a kernel cannot read")
    if not dtype.isnative:
        raise TypeError(
            f"has dtype {dtype}, whose bytes are in the other order: "
            'pass x.astype(x.dtype.newbyteorder("="))'
        )
    if known is None or known.element is None or dtype.kind == "V":
        return
    kind, size = known.element
    given = KINDS[dtype.kind]
    good = {
        "int": given == "int" and dtype.itemsize == size,
        "float": given == "float" and dtype.itemsize == size,
        "half": given in ("float", "int") and dtype.itemsize == 2,
        "bfloat16": given == "int" and dtype.itemsize == 2,  # NumPy has no such type
    }[kind]
    # a complex array is pairs, as float2 is
    pairs = kind == "float" and given == "complex" and dtype.itemsize == 2 * size
    if good or (pairs and re.search(r"[24]\b", known.text)):
        return
    if kind == "bfloat16":
        cast = "pass its bits as an array of uint16"
    else:
        name = dtype_of(known)
        cast = f"pass {known.name}.astype(np.{name})"
        if dtype.itemsize == size or given == "complex" or re.search(r"[24]\b", known.text):
            cast += f", or {known.name}.view(np.{name}) for the bits as they are"
    raise TypeError(f"is an array of {dtype}, but the kernel takes {known.text}: {cast}")


def dtype_of(known: Parameter) -> str:
    """NumPy's dtype of what a parameter leads to, of which the kind is known."""
    kind, size = known.element or ("int", 1)
    unsigned = re.search(r"\bu(nsigned|char|short|int|long)|size_t", known.text)
    names = {"half": "float16", "bfloat16": "uint16", "float": f"float{8 * size}"}
    return names.get(kind, f"{'u' if unsigned else ''}int{8 * size}")


def _raw(param: Any) -> Converter:
    """A struct (.b8), or a value that the PTX declares without a type: the size must be exact."""

    def convert(value: Any) -> Any:
        if not isinstance(value, (bytes, np.generic)):
            pointer = ", or for a pointer an array" if param.size == 8 else ""
            raise TypeError(
                f"is a {type(value).__name__}, but must be bytes or a NumPy scalar of "
                f"{param.size} bytes{pointer}"
            )
        data = value if isinstance(value, bytes) else value.tobytes()
        if len(data) != param.size:
            raise ValueError(f"has {len(data)} bytes, but the kernel takes {param.size}")
        return data if param.type == "b8" else np.frombuffer(data, f"u{param.size}")[0]

    return convert


def _integer(param: Any, scalar: Any) -> Converter:
    """A whole number of either signedness that fits in the bits of the parameter."""
    bits = 8 * param.size
    low, high = int(np.iinfo(scalar).min), int(np.iinfo(scalar).max)

    def convert(value: Any) -> Any:
        if type(value) is scalar:
            return value
        if not isinstance(value, WHOLE):
            pointer = " or, for a pointer, a NumPy array" if param.size == 8 else ""
            raise TypeError(f"is a {type(value).__name__}, but must be a whole number{pointer}")
        number = int(value)
        if not low <= number <= high:  # the bits are those of the other signedness
            if not -(2 ** (bits - 1)) <= number < 2**bits:
                raise ValueError(f"{number} does not fit in {bits} bits")
            number += 2**bits if number < 0 else -(2**bits)
        return scalar(number)

    return convert


def _float(param: Any, scalar: Any) -> Converter:
    """A number that the floating-point type of the parameter can hold."""
    most = float(np.finfo(scalar).max)

    def convert(value: Any) -> Any:
        if type(value) is scalar:
            return value
        if not isinstance(value, REAL):
            raise TypeError(f"is a {type(value).__name__}, but must be a number with a fraction")
        number = float(value)
        if -most <= number <= most:
            return scalar(number)
        with np.errstate(over="ignore"):
            result = scalar(number)
        if np.isinf(result) and not math.isinf(number):
            raise ValueError(f"{value} is too large for {8 * param.size} bits")
        return result

    return convert
