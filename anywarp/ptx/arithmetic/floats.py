"""Floating-point operations that NumPy does not round as PTX does.

Everything else (add, mul, div, sqrt in float32 and float64) NumPy already rounds once,
to nearest even, as IEEE 754 and PTX `.rn` demand.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ..aliases import Array, DType, Elementwise

LEAST_NORMAL = np.finfo(np.float32).tiny
_LOW_28 = np.uint64((1 << 28) - 1)


NAN = np.uint32(0x7FFFFFFF).view(np.float32)  # of every float32 operation without a number to give
NAN_64 = np.uint64(0xFFF8000000000000).view(np.float64)  # of one whose operands are numbers
QUIET = np.uint64(1 << 51)


def has_nan(x: Array) -> bool:
    """Whether any element is a NaN."""
    least = x.min() if x.size else 0  # a NaN if there is one, and much faster than isnan
    return least != least


def one_nan(x: Array) -> Array:
    """The result of a float32 operation: whatever NaN NumPy made of it, the GPU's."""
    return np.where(np.isnan(x), NAN, x) if has_nan(x) else x


def payload(result: Array, *operands: Array) -> Array:
    """The result of a float64 operation: a NaN has the bits of the first of the operands that is
    one, made quiet, as on an H200 (`tests/data/nvidia_h200_arithmetic.json`)."""
    if not has_nan(result):
        return result
    bits = np.full(result.shape, NAN_64.view(np.uint64))
    for x in reversed(operands):
        bits = np.where(np.isnan(x), x.view(np.uint64) | QUIET, bits)
    return np.where(np.isnan(result), bits.view(np.float64), result)


def fma32(a: Array, b: Array, c: Array) -> Array:
    """a * b + c in float32, rounded once.

    The product of two float32 is exact in float64. Its sum with c is rounded to 53 bits and
    then to 24, and this second rounding goes wrong only when the first one landed on the middle
    between two values that float32 can represent. Its low 28 bits are zero, also if they are
    subnormal, and it is no float32 itself, as the many sums of zeros are: only there, and at a
    NaN, is looked again.
    """
    a, b = a.astype(np.float64), b.astype(np.float64)  # faster than ufuncs of mixed types
    return add_to_product(multiplied(a, b), c)


def multiplied(a: Array, b: Array) -> Array:
    """a * b in float64; a may be overwritten."""
    return np.multiply(a, b, out=a if a.shape == b.shape else None)


def add_to_product(product: Array, c: Array) -> Array:
    """product + c in float32, rounded once; the product is an exact one, in float64."""
    s = c.astype(np.float64)
    s = np.add(s, product, out=s if s.shape == product.shape else None)
    result = s.astype(np.float32)
    wrong = rounded_twice(s, result)
    if wrong is not None:
        round_once(result, s, np.nonzero(wrong), product, c)
    return result


def rounded_twice(s: Array, result: Array) -> Array | None:
    """Where sums `s` of float64 may have become the wrong float32; None if that is nowhere."""
    low = s.view(np.uint64) & _LOW_28
    if not low.size or low.min():
        return None
    wrong = result != s  # every NaN is among them, too
    wrong &= low == 0
    return wrong if wrong.any() else None


def round_once(result: Array, s: Array, where: Any, product: Array, c: Array) -> None:
    """Put right what two roundings of product + c, of which `s` is the first, made wrong in
    `result` at the indices `where`."""
    product, c = (np.broadcast_to(x, s.shape)[where].astype(np.float64) for x in (product, c))
    s = s[where]
    result[where] = one_nan(to_odd(s, error_of_sum(product, c, s)).astype(np.float32))


def fma32_each(terms: Any, shape: tuple[int, ...]) -> Any:
    """`fma32` of each (a, b, c) of a list; a and b hold float32 values as float64, and all three
    broadcast to `shape`, as do the results. A single a may be overwritten."""
    whole = shape[0] * shape[1]
    if len(terms) == 1:
        [(a, b, c)] = terms
        return [add_to_product(multiplied(a, b), c)]
    if any(c.size < whole for _, _, c in terms):  # in the first pass of a loop
        return [fma32(*each) for each in terms]
    s, product = np.empty((len(terms), *shape)), np.empty(shape)
    for row, (a, b, c) in zip(s, terms):
        row[...] = c
        row += np.multiply(a, b, out=product)
    results = s.astype(np.float32)
    wrong = rounded_twice(s, results)
    if wrong is not None:
        for n in np.nonzero(wrong.any(axis=(1, 2)))[0]:
            a, b, c = terms[n]
            round_once(results[n], s[n], np.nonzero(wrong[n]), a * b, c)
    return results


def directed(rounding: str) -> Callable[..., Any]:
    """(a, b, c) -> a * b + c in float32, rounded down (rm), up (rp) or towards zero (rz)."""

    def run(a: Array, b: Array, c: Array) -> Array:
        a, b, c = (x.astype(np.float64) for x in (a, b, c))
        product = a * b
        exact = sum_to_odd(product, c)  # not a float32 unless the value is
        nearest = exact.astype(np.float32)
        if rounding == "rm":  # a sum that cancels is -0, but +0 + +0 stays +0
            positive = ~(np.signbit(product) | np.signbit(c))
            nearest = np.where((exact == 0) & ~positive, np.float32(-0.0), nearest)
        return step(nearest, exact - nearest, rounding)

    return run


def step(nearest: Array, error: Any, mode: str) -> Array:
    """The nearest float and the sign of what it misses -> the one in the mode's direction."""
    down = (error < 0) & ((mode == "rm") | ((mode == "rz") & (nearest > 0)))
    up = (error > 0) & ((mode == "rp") | ((mode == "rz") & (nearest < 0)))
    nearest = np.where(down, np.nextafter(nearest, nearest.dtype.type(-np.inf)), nearest)
    return np.where(up, np.nextafter(nearest, nearest.dtype.type(np.inf)), nearest)


def fma64(a: Array, b: Array, c: Array) -> Array:
    """a * b + c in float64, rounded once.

    Method: S. Boldo and G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved
    algorithms using rounding to odd", IEEE Transactions on Computers 57 (2008). It needs
    exponents away from the limits; elements near them are computed exactly, one by one.
    """
    a, b, c = np.broadcast_arrays(a, b, c)
    product = a * b
    low = _product_error(a, b, product)
    t = c + low
    v = product + t
    z = sum_to_odd(error_of_sum(c, low, t), error_of_sum(product, t, v))
    result = v + z
    largest = np.maximum(np.maximum(np.abs(a), np.abs(b)), np.maximum(np.abs(c), np.abs(product)))
    special = ~np.isfinite(a) | ~np.isfinite(b) | ~np.isfinite(c) | (a == 0) | (b == 0)
    near_limits = ~special & ~((largest < 2.0**900) & (np.abs(product) > 2.0**-900))
    result = np.where(special, product + c, result)
    result = np.where(np.isinf(c) & np.isfinite(a) & np.isfinite(b), c, result)
    for at in zip(*np.nonzero(near_limits)):
        result[at] = _fma_exact(a[at], b[at], c[at])
    return result


def _fma_exact(a: Array, b: Array, c: Array) -> float:
    """a * b + c of single numbers, rounded once, by rational arithmetic."""
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if exact == 0:
        return float(a * b + c)  # the sign of a zero sum
    try:
        return float(exact)
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


def error_of_sum(a: Array, b: Array, s: Array) -> Array:
    """The exact a + b - s, for s = fl(a + b) (Knuth's TwoSum)."""
    bb = s - a
    return (a - (s - bb)) + (b - bb)


def _product_error(a: Array, b: Array, p: Array) -> Array:
    """The exact a * b - p, for p = fl(a * b) (Veltkamp's split, Dekker's product)."""

    def split(x: Array) -> Any:
        big = x * 134217729.0  # 2**27 + 1
        high = big - (big - x)
        return high, x - high

    (ah, al), (bh, bl) = split(a), split(b)
    return ((ah * bh - p) + ah * bl + al * bh) + al * bl


def to_odd(s: Array, error: Array) -> Array:
    """fl(a + b) and its error -> a + b rounded to odd: where it was inexact, the neighbour of
    the exact value whose last bit is set."""
    even = (s.view(np.uint64) & np.uint64(1)) == 0
    inexact = even & np.isfinite(s)
    s = np.where(inexact & (error > 0), np.nextafter(s, np.inf), s)
    return np.where(inexact & (error < 0), np.nextafter(s, -np.inf), s)


def sum_to_odd(a: Array, b: Array) -> Array:
    """a + b in float64, rounded to odd."""
    s = a + b
    return to_odd(s, error_of_sum(a, b, s))


def numbers(a: Array, b: Array) -> Any:
    """Both operands, but the other one in place of a NaN: what NumPy's fmin and fmax do, except, on
    ARM, for a signalling NaN."""
    return np.where(np.isnan(a), b, a), np.where(np.isnan(b), a, b)


def minimum(a: Array, b: Array) -> Array:
    """PTX min: the number where one operand is NaN; -0 is less than +0."""
    return -maximum(-a, -b)


def maximum(a: Array, b: Array) -> Array:
    """PTX max: the number where one operand is NaN; +0 is more than -0."""
    a, b = numbers(a, b)
    zeros = (a == 0) & (b == 0)
    result = np.fmax(a, b)
    return np.where(zeros, np.where(np.signbit(a), b, a), result) if zeros.any() else result


def extreme(function: Elementwise, flags: set[str]) -> Callable[..., Any]:
    """min or max; with `.NaN` a NaN wins."""
    if "NaN" not in flags:
        return function

    def run(a: Array, b: Array) -> Array:
        result = function(a, b)
        return np.where(np.isnan(a) | np.isnan(b), result.dtype.type(np.nan), result)

    return run


def clamped(x: Array, flags: set[str]) -> Array:
    """`.sat`: to [0, 1], NaN to 0; `.relu`: what is negative to 0."""
    if "sat" in flags:
        x = np.where(x > 0, np.minimum(x, 1), x.dtype.type(0))
    return np.where(np.isnan(x) | (x > 0), x, x.dtype.type(0)) if "relu" in flags else x


def to_integer(x: Array, dtype: DType, rounding: Any) -> Any:
    """Float to integer: rounded, then clamped to the type's range. NaN gives 0, or, where one side
    has 64 bits, only the top bit is set (PTX ISA, cvt)."""
    info = np.iinfo(dtype)
    rounded = rounding(x)
    below, above = rounded < float(info.min), rounded >= float(info.max) + 1.0 * (info.bits < 64)
    inside = np.where(below | above | np.isnan(x), x.dtype.type(0), rounded)
    result = np.where(below, dtype(info.min), inside.astype(dtype))
    result = np.where(above, dtype(info.max), result)
    if info.bits == 64 or x.dtype.itemsize == 8:
        top = np.array([1 << info.bits - 1]).astype(f"u{info.bits // 8}").view(dtype)
        result = np.where(np.isnan(x), top, result)
    return result


def flush_subnormals(x: Array) -> Array:
    """`.ftz`: subnormal float32 become zeros of the same sign."""
    return np.where(np.abs(x) < LEAST_NORMAL, np.copysign(np.float32(0), x), x)
