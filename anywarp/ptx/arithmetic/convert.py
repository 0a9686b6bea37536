"""cvt: between all integer and float types, in all roundings. PTX ISA, chapter 9.7.9.21."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..aliases import Array, DType
from ..text.forms import DTYPES, Op, refuse
from ..text.syntax import Instruction
from . import float8, floats, half
from .rounding import narrow

TO_INTEGER = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
MODES = {"rn", "rz", "rm", "rp", "rna"}
FLOATS = {"f16", "bf16", "tf32", "f32", "f64"}
INTEGERS = {f"{s}{n}" for s in "us" for n in (8, 16, 32, 64)}
LARGEST = {"f16": 65504.0, "bf16": (2 - 2**-7) * 2.0**127, "tf32": (2 - 2**-10) * 2.0**127}
FLOAT_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64}


def cvt(i: Instruction) -> Op:
    """cvt: between integers and floats of any sizes, with rounding and saturation."""
    *given, result, source = i.modifiers
    flags = set(given)
    if not float8.FLOAT8.isdisjoint((result, source)):
        return float8.cvt(i)
    if "pack" in flags:
        return packed_integers(i)
    if result in ("f16x2", "bf16x2") and source == "f32":
        return pair(i, result.removesuffix("x2"), flags)
    rounding = flags & (TO_INTEGER.keys() | MODES)
    others = flags - rounding
    integral = bool(rounding & TO_INTEGER.keys())
    sizes = FLOAT_BITS.get(result, 0), FLOAT_BITS.get(source, 0)
    refuse(
        not {result, source} <= FLOATS | INTEGERS
        or source == "tf32"
        or others - {"ftz", "sat", "relu", "satfinite"}
        or len(rounding) > 1
        or (source in FLOATS and result in INTEGERS and not integral)
        or ("rna" in rounding and result != "tf32")
        or (others & {"relu", "satfinite"} and result not in ("f16", "bf16", "tf32")),
        i,
    )
    how = next(iter(rounding), "rn")
    if source in INTEGERS and result in INTEGERS:
        if "sat" in flags:
            return Op(saturate(DTYPES[source], DTYPES[result]), (DTYPES[source],), DTYPES[result])
        dtype = DTYPES[result]
        return Op(lambda x: x.astype(dtype), (DTYPES[source],), dtype)
    if source in INTEGERS:
        return from_integer(source, result, how, others)
    if result in INTEGERS:
        dtype, read = DTYPES[result], reader(source, "ftz" in flags)
        return Op(
            lambda x: floats.to_integer(read(x), dtype, TO_INTEGER[how]), (bits_of(source),), dtype
        )
    refuse(
        (sizes[0] < sizes[1] and integral) or (sizes[0] > sizes[1] and rounding and not integral), i
    )
    return between_floats(source, result, how, others, integral)


def bits_of(kind: str) -> DType:
    """The type in which the operand of a float type is read."""
    return {"f16": np.float16, "bf16": np.uint16, "tf32": np.uint32}.get(kind) or DTYPES[kind]


def reader(kind: str, ftz: bool = False) -> Any:
    """Bits as read -> float32 or float64 of the same value."""
    if kind == "bf16":
        return lambda x: half.wide(x, "bf16").astype(np.float32)
    if kind == "f32" and ftz:
        return floats.flush_subnormals
    return lambda x: x


def writer(kind: str, mode: str, others: set[str]) -> Callable[..., Any]:
    """float64, exact or rounded to odd -> bits of the type."""

    def run(x: Array) -> Array:
        x = floats.clamped(x, others)
        if "satfinite" in others:
            x = np.clip(x, -LARGEST[kind], LARGEST[kind])
        if kind in ("f16", "bf16"):
            return half.pack(x, kind, mode)
        if kind == "f64":
            return x
        result = floats.one_nan(
            (x if mode == "rn" and kind == "f32" else narrow(x, kind, mode)).astype(np.float32)
        )
        if "ftz" in others and kind == "f32":
            result = floats.flush_subnormals(result)
        return result.view(np.uint32) if kind == "tf32" else result

    return run


RESULT = DTYPES | {"f16": np.uint16, "bf16": np.uint16, "tf32": np.uint32}


def between_floats(source: str, result: str, how: str, others: set[str], integral: bool) -> Any:
    """From one float type to another, or to an integral value of the same one."""
    read = reader(source, "ftz" in others)
    write = writer(result, "rn" if integral else how, others)
    rounding = TO_INTEGER[how] if integral else lambda x: x
    dtype = bits_of(source)
    if (source, result) == ("bf16", "f32") and not others:  # NaNs and all
        return Op(
            lambda x: (x.astype(np.uint32) << np.uint32(16)).view(np.float32), (dtype,), np.float32
        )
    carries = ("f64" in (source, result) or result == "tf32") and not others & {"sat", "relu"}

    if not carries:
        return Op(lambda x: write(rounding(read(x).astype(np.float64))), (dtype,), RESULT[result])

    def with_nan(x: Array) -> Array:
        value = read(x).astype(np.float64)
        bits = write(rounding(value))
        if not floats.has_nan(value):
            return bits
        unsigned = f"u{bits.dtype.itemsize}"
        chosen = np.where(np.isnan(value), nan_like(value, x, result, how), bits.view(unsigned))
        return chosen.astype(unsigned).view(bits.dtype)

    return Op(with_nan, (dtype,), RESULT[result])


def nan_like(value: Array, x: Array, result: str, how: str) -> Any:
    """The bits of a NaN of x, which `value` is in float64, in the result's format: with f64 on one
    side the sign and as much of the payload as there is room for, made quiet."""
    if result == "tf32":
        return x.view(np.uint32) & np.uint32(0xFFFFE000) if how == "rna" else np.uint32(0x7FFFE000)
    bits = value.view(np.uint64) | floats.QUIET
    if result == "f64":
        return bits
    fraction, width = {"f16": (10, 16), "bf16": (7, 16), "f32": (23, 32)}[result]
    sign = bits >> np.uint64(63) << np.uint64(width - 1)
    rest = bits >> np.uint64(52 - fraction) & np.uint64((1 << width - 1) - 1)
    exponent = np.uint64(((1 << width - 1 - fraction) - 1) << fraction)
    return sign | exponent | rest & np.uint64((1 << fraction) - 1)


def from_integer(source: str, result: str, mode: str, others: set[str]) -> Any:
    """From an integer to a float, rounded once."""
    dtype, bits = DTYPES[source], int(source[1:])
    refuse(result == "tf32", "to tf32")
    if bits <= 32 or result != "f64":
        write = writer(result, mode, others)
        if mode == "rn" and result in ("f32", "f64") and "sat" not in others:
            return Op(lambda x: x.astype(RESULT[result]), (dtype,), RESULT[result])
        return Op(lambda x: write(to_odd64(x)), (dtype,), RESULT[result])
    if mode == "rn" and "sat" not in others:
        return Op(lambda x: x.astype(np.float64), (dtype,), np.float64)

    def directed(x: Array) -> Array:
        """64 bits to 53: the neighbour where the nearest lies on the wrong side."""
        near = x.astype(np.float64)
        top = near >= 2.0 ** (bits - (source[0] == "s"))  # rounded up beyond the type
        back = np.where(top, 0.0, near).astype(dtype)
        missed = np.where(top, -1, (back < x).astype(int) - (back > x))
        return floats.step(near, missed, mode)

    return Op(directed, (dtype,), np.float64)


def to_odd64(x: Array) -> Array:
    """An integer array as float64, rounded to odd where 53 bits do not hold it."""
    if x.dtype.itemsize < 8:
        return x.astype(np.float64)
    small = (x < 2**53) if x.dtype.kind == "u" else (x < 2**53) & (x > -(2**53))
    low = x & x.dtype.type(0xFFF)
    high = (x - low).astype(np.float64)  # 52 bits: exact
    return np.where(small, x.astype(np.float64), high + np.where(low != 0, 2048.0, 0.0))


def saturate(from_dtype: Any, to_dtype: Any) -> Callable[..., Any]:
    """Integer to integer, clamped to the result's range."""
    source, target = np.iinfo(from_dtype), np.iinfo(to_dtype)
    low, high = max(source.min, target.min), min(source.max, target.max)
    return lambda x: np.clip(x, from_dtype(low), from_dtype(high)).astype(to_dtype)


def pair(i: Instruction, kind: str, flags: set[str]) -> Any:
    """cvt.rn.f16x2.f32 d, a, b: a in the upper half, b in the lower."""
    refuse(len(flags & {"rn", "rz"}) != 1 or flags - {"rn", "rz", "relu", "satfinite"}, i)
    write = writer(kind, "rn" if "rn" in flags else "rz", flags)
    wide = lambda x: write(x.astype(np.float64))
    return Op(lambda a, b: half.join(wide(b), wide(a)), (np.float32, np.float32), np.uint32)


def packed_integers(i: Instruction) -> Op:
    """cvt.pack.sat.u8.s32.b32 d, a, b, c: a and b clamped into the low bits, c's bits above."""
    words = i.modifiers
    refuse(words[:2] != ("pack", "sat") or words[3] != "s32" or words[2][1:] not in ("16", "8"), i)
    clamp = saturate(np.int32, DTYPES[words[2]])
    bits = np.uint32(words[2][1:])
    mask = np.uint32((1 << int(bits)) - 1)

    def run(a: Array, b: Array, c: Array | None = None) -> Array:
        low, high = (clamp(x).astype(np.uint32) & mask for x in (b, a))
        both = low | high << bits
        return both if c is None else c << np.uint32(2) * bits | both

    if len(words) == 5:
        return Op(run, (np.int32, np.int32, np.uint32), np.uint32)
    return Op(run, (np.int32, np.int32), np.uint32)
