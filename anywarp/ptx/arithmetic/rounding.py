"""Rounding to any format in any direction, and float64 operations not rounded to nearest.

The modes are PTX's: rn (to nearest, ties to even), rz (towards zero), rm (down), rp (up),
rna (to nearest, ties away from zero).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ..aliases import Array, Elementwise
from .floats import fma64, step, to_odd

FORMATS = {"f16": (10, 15), "bf16": (7, 127), "tf32": (10, 127), "f32": (23, 127)}
# stored fraction bits, exponent of the largest number; the least normal is 2**(1 - that)


def narrow(x: Array, kind: str, mode: str = "rn") -> Array:
    """float64 -> float64 values that are in the format, rounded once; NaN and inf stay.

    For one rounding in all, x is exact, or was rounded to odd (see `to_odd`)."""
    fraction, top = FORMATS[kind]
    size = np.abs(x)
    finite = np.isfinite(x)
    _, exponent = np.frexp(np.where(finite, size, 1.0))  # size = m * 2**exponent, 1/2 <= m < 1
    quantum = np.maximum(exponent - 1, 1 - top) - fraction
    units = np.ldexp(np.where(finite, size, 0.0), -quantum)
    if mode == "rn":
        units = np.rint(units)
    elif mode == "rna":
        units = np.floor(units + 0.5)
    elif mode == "rz":
        units = np.floor(units)
    else:
        away = np.signbit(x) if mode == "rm" else ~np.signbit(x)
        units = np.where(away, np.ceil(units), np.floor(units))
    result = np.ldexp(units, quantum)
    largest = math.ldexp(2.0 - 2.0**-fraction, top)
    inward = np.ones(x.shape, bool) if mode == "rz" else np.zeros(x.shape, bool)
    if mode in ("rm", "rp"):
        inward = ~np.signbit(x) if mode == "rm" else np.signbit(x)
    result = np.where(result > largest, np.where(inward, largest, np.inf), result)
    return np.copysign(np.where(finite, result, size), x)


def one_by_one(exact: Callable[..., int], nearest: Elementwise, mode: str) -> Callable[..., Any]:
    """A float64 operation in another mode than rn, from rational arithmetic on each element.

    `exact` takes the operands as Fractions, and the nearest float64, to the sign of what that
    misses."""

    def run(*arrays: Array) -> Any:
        arrays = np.broadcast_arrays(*arrays)
        result = np.array(nearest(*arrays))
        finite = np.logical_and.reduce([np.isfinite(x) for x in arrays]) & ~np.isnan(result)
        for at in zip(*np.nonzero(finite)):
            values = [Fraction(float(x[at])) for x in arrays]
            near = float(result[at])
            try:
                sign = exact(*values, near)
            except ZeroDivisionError:
                continue
            if mode == "rm" and near == 0 and sign == 0 and len(arrays) == 3:
                a, b, c = (float(x[at]) for x in arrays)
                positive = math.copysign(1, a) * math.copysign(1, b) > 0 and math.copysign(1, c) > 0
                result[at] = 0.0 if positive else -0.0
            result[at] = step(result[at], sign, mode)
        return result

    return run


def _against(value: Fraction, near: float | Fraction) -> int:
    """The sign of value - near."""
    if math.isinf(near):
        return -1 if near > 0 else 1
    return (value > Fraction(near)) - (value < Fraction(near))


def directed64(opcode: str, mode: str) -> Any:
    """The float64 operation in mode rz, rm or rp."""
    if opcode in ("add", "sub"):  # of one product more, by 1
        fused = directed64("fma", mode)
        return lambda a, b: fused(a, np.ones_like(a), b if opcode == "add" else -b)
    operations: dict[str, tuple[Callable[..., int], Elementwise]] = {
        "mul": (lambda a, b, r: _against(a * b, r), np.multiply),
        "fma": (lambda a, b, c, r: _against(a * b + c, r), fma64),
        "div": (lambda a, b, r: _against(a / b, r), np.divide),
        "rcp": (lambda a, r: _against(1 / a, r), np.reciprocal),
        "sqrt": (lambda a, r: _against(a, Fraction(r) ** 2), np.sqrt),
    }
    return one_by_one(*operations[opcode], mode)


def quotient32(a: Array, b: Array) -> Array:
    """a / b of float32 as float64, rounded to odd."""
    a, b = np.broadcast_arrays(a.astype(np.float64), b.astype(np.float64))
    q = a / b
    rest = np.where(np.isfinite(q) & np.isfinite(b), fma64(-q, b, a), 0.0)
    return to_odd(q, np.where(b < 0, -rest, rest))


def root32(a: Array) -> Array:
    """sqrt of float32 as float64, rounded to odd."""
    a = a.astype(np.float64)
    r = np.sqrt(a)
    return to_odd(r, np.where(np.isfinite(r), fma64(-r, r, a), 0.0))
