"""Exact arithmetic on IEEE-754 bit patterns and on wrapped integers.

Everything here works on Python integers and ``fractions.Fraction``, so that what the tests
expect shares nothing with the NumPy expressions of the interpreter. A floating-point number is
always an integer bit pattern; a number that rounds does so once, from its exact value.
"""

from __future__ import annotations

import struct
from fractions import Fraction
from typing import NamedTuple


class Format(NamedTuple):
    """A binary interchange format: total width, stored fraction bits, exponent bits."""

    width: int
    fraction: int
    exponent: int


F16, BF16 = Format(16, 10, 5), Format(16, 7, 8)
F32, F64 = Format(32, 23, 8), Format(64, 52, 11)
FORMATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}


def infinity(fmt: Format, sign: int = 0) -> int:
    return (sign << (fmt.width - 1)) | (((1 << fmt.exponent) - 1) << fmt.fraction)


def nan(fmt: Format) -> int:
    return infinity(fmt) | (1 << (fmt.fraction - 1))


def largest(fmt: Format, sign: int = 0) -> int:
    return infinity(fmt, sign) - 1


def sign_of(bits: int, fmt: Format) -> int:
    return bits >> (fmt.width - 1)


def magnitude(bits: int, fmt: Format) -> int:
    return bits & ((1 << (fmt.width - 1)) - 1)


def is_nan(bits: int, fmt: Format) -> bool:
    return magnitude(bits, fmt) > infinity(fmt)


def is_inf(bits: int, fmt: Format) -> bool:
    return magnitude(bits, fmt) == infinity(fmt)


def is_zero(bits: int, fmt: Format) -> bool:
    return magnitude(bits, fmt) == 0


def is_subnormal(bits: int, fmt: Format) -> bool:
    return 0 < magnitude(bits, fmt) < 1 << fmt.fraction


def negate(bits: int, fmt: Format) -> int:
    return bits ^ (1 << (fmt.width - 1))


def value(bits: int, fmt: Format) -> Fraction:
    """The exact value of a finite bit pattern."""
    exponent, fraction = divmod(magnitude(bits, fmt), 1 << fmt.fraction)
    bias = (1 << (fmt.exponent - 1)) - 1
    if exponent:
        fraction += 1 << fmt.fraction
    scale = max(exponent, 1) - bias - fmt.fraction
    return times_power(Fraction(-fraction if sign_of(bits, fmt) else fraction), scale)


def times_power(x: Fraction, power: int) -> Fraction:
    """x * 2**power, by shifts: much faster than a power of a Fraction."""
    if power >= 0:
        return Fraction(x.numerator << power, x.denominator)
    return Fraction(x.numerator, x.denominator << -power)


def round_integer(x: Fraction, mode: str) -> int:
    """Round to an integer: rn (ties to even), rz, rm (down) or rp (up)."""
    down, rest = divmod(x.numerator, x.denominator)
    if mode == "rn":
        up = 2 * rest > x.denominator or (2 * rest == x.denominator and down % 2 == 1)
    else:
        up = rest > 0 and (mode == "rp" or (mode == "rz" and x < 0))
    return down + 1 if up else down


def encode(x: Fraction, fmt: Format, mode: str = "rn", zero_sign: int = 0) -> int:
    """The bit pattern nearest to an exact value in a rounding mode; overflow as IEEE 754 says."""
    if x == 0:
        return zero_sign << (fmt.width - 1)
    sign = int(x < 0)
    bias = (1 << (fmt.exponent - 1)) - 1
    over, under = abs(x.numerator), x.denominator
    exponent = over.bit_length() - under.bit_length()
    if over << max(-exponent, 0) < under << max(exponent, 0):
        exponent -= 1
    quantum = max(exponent, 1 - bias) - fmt.fraction
    scaled = abs(round_integer(times_power(x, -quantum), mode))
    # A carry out of the fraction moves into the exponent field by itself.
    bits = scaled + (max(exponent + bias - 1, 0) << fmt.fraction)
    if bits >= infinity(fmt):
        inward = mode == "rz" or mode == ("rp" if sign else "rm")
        bits = largest(fmt) if inward else infinity(fmt)
    return bits | (sign << (fmt.width - 1))


def fma(a: int, b: int, c: int, fmt: Format, mode: str = "rn") -> int:
    """a * b + c with one rounding."""
    if any(is_nan(x, fmt) for x in (a, b, c)):
        return nan(fmt)
    sign = sign_of(a, fmt) ^ sign_of(b, fmt)
    if is_inf(a, fmt) or is_inf(b, fmt):
        invalid = is_zero(a, fmt) or is_zero(b, fmt)
        if invalid or (is_inf(c, fmt) and sign_of(c, fmt) != sign):
            return nan(fmt)
        return infinity(fmt, sign)
    if is_inf(c, fmt):
        return c
    product = value(a, fmt) * value(b, fmt)
    cancelled = int(mode == "rm")
    same = product == 0 and is_zero(c, fmt) and sign_of(c, fmt) == sign
    return encode(product + value(c, fmt), fmt, mode, sign if same else cancelled)


def add(a: int, b: int, fmt: Format, mode: str = "rn") -> int:
    return fma(a, encode(Fraction(1), fmt), b, fmt, mode)


def sub(a: int, b: int, fmt: Format, mode: str = "rn") -> int:
    return add(a, negate(b, fmt), fmt, mode)


def mul(a: int, b: int, fmt: Format, mode: str = "rn") -> int:
    if any(is_nan(x, fmt) or is_inf(x, fmt) for x in (a, b)):
        return fma(a, b, 0, fmt, mode)
    sign = sign_of(a, fmt) ^ sign_of(b, fmt)
    return encode(value(a, fmt) * value(b, fmt), fmt, mode, sign)


def flush(bits: int, fmt: Format) -> int:
    """.ftz: a subnormal becomes a zero of its sign."""
    return sign_of(bits, fmt) << (fmt.width - 1) if is_subnormal(bits, fmt) else bits


def convert(bits: int, source: Format, target: Format, mode: str = "rn") -> int:
    if is_nan(bits, source):
        return nan(target)
    if is_inf(bits, source):
        return infinity(target, sign_of(bits, source))
    return encode(value(bits, source), target, mode, sign_of(bits, source))


def f32(x: float) -> int:
    """The float32 bit pattern of a Python float, rounded to nearest even."""
    return convert(f64(x), F64, F32)


def f64(x: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def as_float(bits: int, fmt: Format) -> float:
    code = {16: "<e", 32: "<f", 64: "<d"}[fmt.width]
    return struct.unpack(code, bits.to_bytes(fmt.width // 8, "little"))[0]


def width_of(kind: str) -> int:
    return int(kind.lstrip("usbf"))


def wrap(x: int, kind: str) -> int:
    """An integer modulo 2**width, signed for an s type."""
    width = width_of(kind)
    x &= (1 << width) - 1
    return x - (1 << width) if kind[0] == "s" and x >> (width - 1) else x


def least(kind: str) -> int:
    return -(1 << (width_of(kind) - 1)) if kind[0] == "s" else 0


def greatest(kind: str) -> int:
    return (1 << (width_of(kind) - (kind[0] == "s"))) - 1


def clamp(x: int, kind: str) -> int:
    return min(max(x, least(kind)), greatest(kind))


def quotient(a: int, b: int) -> int:
    """Division truncated towards zero."""
    q = abs(a) // abs(b)
    return -q if (a < 0) != (b < 0) else q
