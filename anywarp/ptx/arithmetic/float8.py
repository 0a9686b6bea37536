"""float8 in pairs, e4m3x2 and e5m2x2: cvt from f32 and f16x2, and to f16x2.

e4m3 has no infinity and one NaN, 0x7f with either sign; e5m2 is the upper half of an f16. PTX ISA,
chapters 5.2.3 (alternate floating-point data formats) and 9.7.9.21 (cvt).
"""

from __future__ import annotations

import numpy as np

from ..aliases import Array
from ..text.forms import Op, refuse
from ..text.syntax import Instruction
from . import half
from .floats import clamped

FORMATS = {"e4m3": (3, 7, 448.0), "e5m2": (2, 15, 57344.0)}  # fraction bits, bias, largest number
FLOAT8 = {"e4m3x2", "e5m2x2"}
NAN = 0x7F


def pack(x: Array, kind: str, flags: set[str]) -> Array:
    """float64 -> uint16 below 256, rounded to nearest even; beyond the largest number, that."""
    fraction, bias, largest = FORMATS[kind]
    x = clamped(x, flags)
    size = np.where(np.isnan(x), 0.0, np.minimum(np.abs(x), largest))
    _, exponent = np.frexp(np.maximum(size, 2.0 ** (1 - bias)))  # all below have its exponent
    code = (exponent - 2 + bias << fraction) + np.rint(np.ldexp(size, fraction + 1 - exponent))
    return np.where(np.isnan(x), NAN, np.signbit(x) * 128 + code).astype(np.uint16)


def half_of(code: Array, kind: str) -> Array:
    """uint16 below 256 -> f16 as uint16, exact; every NaN is 0x7fff."""
    fraction, bias, _ = FORMATS[kind]
    exponent = (code & 0x7F) >> fraction
    units = (code & (1 << fraction) - 1) + ((exponent > 0) << fraction)
    x = np.ldexp(
        units.astype(np.float64), np.maximum(exponent, 1).astype(np.int32) - bias - fraction
    )
    bits = x.astype(np.float16).view(np.uint16) | (code & 0x80) << 8
    not_a_number = (code & 0x7F) > (0x7C if kind == "e5m2" else 0x7E)
    return np.where(not_a_number, half.NAN, bits).astype(np.uint16)


def cvt(i: Instruction) -> Op:
    """cvt.rn.satfinite.e4m3x2.f32 d, a, b and .f16x2 d, a: a, or its upper half, in the upper bits.
    cvt.rn.f16x2.e4m3x2 d, a the other way round."""
    *given, result, source = i.modifiers
    kind = (result if result in FLOAT8 else source).removesuffix("x2")
    needed = {"rn", "satfinite"} if result in FLOAT8 else {"rn"}
    refuse({*given} - {"relu"} != needed or {result, source} - FLOAT8 - {"f32", "f16x2"}, i)
    flags = {*given} & {"relu"}
    pair = lambda low, high: low | high << np.uint16(8)

    def from_halves(x: Array) -> Array:
        return pair(*(pack(half.wide(each, "f16"), kind, flags) for each in half.halves(x)))

    def to_halves(x: Array) -> Array:
        halves = half_of(x & np.uint16(0xFF), kind), half_of(x >> np.uint16(8), kind)
        wide = (clamped(each.view(np.float16), flags).view(np.uint16) for each in halves)
        return half.join(*wide)

    if source == "f32":
        wide = lambda x: pack(x.astype(np.float64), kind, flags)
        return Op(lambda a, b: pair(wide(b), wide(a)), (np.float32, np.float32), np.uint16)
    if source == "f16x2":
        return Op(from_halves, (np.uint32,), np.uint16)
    refuse(result != "f16x2", i)
    return Op(to_halves, (np.uint16,), np.uint32)
