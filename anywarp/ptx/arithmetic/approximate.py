"""The approximate functions: `.approx`, `.full`, `__sinf` and their like.

A GPU's function unit interpolates in tables; here results are correctly rounded, or computed in
the steps that ptxas makes of the instruction. What each may be off from the exact value says
`tests/anywarp/ptx/test_hardware.py` (PTX ISA, chapter 9.7.3, has such bounds): the results of an
H200 keep to it, and so do these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..aliases import Array, Elementwise
from ..text.forms import Op, modifiers_of, refuse
from ..text.syntax import Instruction
from . import floats

TURNS = np.uint32(0x3E22F983).view(np.float32)  # 1 / (2 pi): MUFU takes angles in turns


def reciprocal(x: Array) -> Array:
    """1 / x; subnormals are zeros, in and out, as in MUFU.RCP."""
    return floats.flush_subnormals(np.reciprocal(floats.flush_subnormals(x)))


def factors(a: Array, b: Array, full: bool, ftz: bool) -> Any:
    """a / b as two factors: a and 1 / b, both scaled away from the ends of the range as ptxas does.

    Without `full`, a divisor above 2**126 has a subnormal reciprocal, which is 0."""
    if ftz:
        a, b = floats.flush_subnormals(a), floats.flush_subnormals(b)
    size = np.abs(b)
    scale = np.where(size > 2.0**126, np.float32(0.25), np.float32(1)) if full else np.float32(1)
    if not ftz:
        scale = np.where(size < floats.LEAST_NORMAL, np.float32(2.0**24), scale)
    return a * scale, reciprocal(b * scale)


def wave(x: Array, quarters: int) -> Any:
    """sin(x + quarters * pi / 2) of float32 angles in radians, as MUFU.SIN and MUFU.COS find it.

    ptxas turns the angle into turns, in float32 rounded towards zero; the unit cuts these to 25
    bits after the point, so that angles below 2**-25 turns have a sine of 0, and reads odd
    quarters backwards by inverting the 23 bits below the quarter."""
    exact = x.astype(np.float64) * np.float64(TURNS)
    r = exact.astype(np.float32)
    r = np.where(np.abs(r) > np.abs(exact), np.nextafter(r, np.float32(0)), r).astype(np.float64)
    finite = np.isfinite(r)
    n = (np.fmod(np.abs(np.where(finite, r, 0.0)), 1.0) * 2.0**25).astype(np.int64)
    n += quarters << 23
    within = np.where(n >> 23 & 1, ~n, n) & ((1 << 23) - 1)
    y = np.sin(2 * np.pi * 2.0**-25 * within)
    negative = (n >> 24 & 1).astype(bool) ^ (np.signbit(r) & (quarters == 0))
    return np.where(finite, np.where(negative, -y, y), np.nan).astype(np.float32)


def upper_word(x: Array) -> Array:
    """A float64 with its lower 32 bits cleared."""
    return (x.view(np.uint64) & np.uint64(0xFFFFFFFF00000000)).view(np.float64)


def by_upper_word(function: Elementwise) -> Callable[..., Any]:
    """MUFU.RCP64H and MUFU.RSQ64H: they see and make the upper 32 bits; subnormals are zeros."""
    least = np.finfo(np.float64).tiny

    def run(x: Array) -> Array:
        x = upper_word(np.asarray(x))
        x = np.where(np.abs(x) < least, np.copysign(0.0, x), x)
        result = function(x)
        bits = result.view(np.uint64) + np.uint64(0x80000000)  # to the nearest upper word
        result = np.where(np.isfinite(result), upper_word(bits.view(np.float64)), result)
        result = np.where(np.abs(result) < least, np.copysign(0.0, result), result)
        return floats.payload(result, x)

    return run


def in_double(function: Elementwise) -> Callable[..., Any]:
    """Correctly rounded, almost always: through float64."""
    return lambda x: function(x.astype(np.float64)).astype(np.float32)


def inverse_root(x: Array) -> Array:
    """1 / sqrt(x)."""
    return 1 / np.sqrt(x)


FUNCTIONS: dict[str, Elementwise] = {
    "rcp": np.reciprocal,
    "sqrt": np.sqrt,
    "rsqrt": in_double(inverse_root),
    "ex2": in_double(np.exp2),
    "lg2": in_double(np.log2),
    "sin": lambda x: wave(x, 0),
    "cos": lambda x: wave(x, 1),
    "tanh": in_double(np.tanh),
}
DOUBLE: dict[tuple[str, bool], Elementwise] = {
    ("rcp", True): by_upper_word(np.reciprocal),
    ("rsqrt", True): by_upper_word(inverse_root),
    ("rsqrt", False): lambda x: floats.payload(inverse_root(x), x),
}


def approximate(i: Instruction) -> Op:
    """`.approx{.ftz}` of f32 and f64."""
    kind, flags = modifiers_of(i, {"f32", "f64"}, "approx ftz")
    refuse("approx" not in flags, i)
    if kind == "f64":
        refuse((i.opcode, "ftz" in flags) not in DOUBLE, i)
        return Op(DOUBLE[i.opcode, "ftz" in flags], (np.float64,), np.float64)
    function = FUNCTIONS[i.opcode]
    if "ftz" in flags:
        inner = function
        function = lambda x: floats.flush_subnormals(inner(floats.flush_subnormals(x)))
    return Op(lambda x: floats.one_nan(function(x)), (np.float32,), np.float32)


def division(i: Instruction) -> Op:
    """div.approx and div.full; `hold.div` is one whose product a sum takes in (`contraction`)."""
    kind, flags = modifiers_of(i, {"f32"}, "approx full ftz")
    refuse(len(flags & {"approx", "full"}) != 1, i)
    full, ftz = "full" in flags, "ftz" in flags

    def run(a: Array, b: Array) -> Array:
        x, y = factors(a, b, full, ftz)
        result = floats.one_nan(x * y)
        return floats.flush_subnormals(result) if ftz else result

    def held(a: Array, b: Array) -> Any:
        return (*factors(a, b, full, ftz), run(a, b))

    return Op(held if i.opcode == "hold.div" else run, (np.float32, np.float32), np.float32)
