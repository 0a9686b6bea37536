"""Float opcodes: from a NumPy function to what an instruction with its modifiers does.

Results that are no number: every float32 operation gives one NaN, float64 ones keep an operand's
payload (`floats`). Semantics: PTX ISA, chapters 9.7.3 and 9.7.4.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..aliases import Array, Elementwise
from ..text.forms import DTYPES, FLOATS, Decoder, Op, modifiers_of, refuse
from ..text.syntax import Instruction
from . import floats
from .approximate import approximate
from .half import HALF_TYPES, half_op
from .rounding import directed64, narrow, quotient32, root32


def with_payload(function: Elementwise, order: tuple[int, ...]) -> Elementwise:
    """A float64 operation; `order`: which operand's NaN is the result, if several are."""
    return lambda *x: floats.payload(function(*x), *(x[n] for n in order))


FIRST_NAN = {"fma": (1, 2, 0), "add": (1, 0), "sub": (1, 0), "mul": (1, 0), "div": (0, 1)}
FIRST_NAN |= {"min": (1, 0), "max": (1, 0)} | dict.fromkeys(("mad", "contracted"), (1, 2, 0))


def with_float_flags(
    function: Elementwise, flags: set[str], exact: Elementwise | None = None
) -> Callable[..., Any]:
    """Of float32: apply `.ftz` (subnormals are zeros, in and out) and `.sat` (clamp to [0, 1],
    NaN to 0); a NaN becomes the one that the GPU gives.

    `exact` is the function in float64, as far as it rounds there otherwise than `function`."""

    def run(*arrays: Array) -> Any:
        if "ftz" in flags:
            arrays = tuple(map(floats.flush_subnormals, arrays))
        result = function(*arrays)
        if "ftz" in flags:
            # the smallest normal number may be a subnormal rounded up, and is then flushed too
            least = np.abs(result) == floats.LEAST_NORMAL
            if least.any():
                size = np.abs((exact or function)(*(x.astype(np.float64) for x in arrays)))
                result = np.where(least & (size < floats.LEAST_NORMAL), result * 0, result)
            result = floats.flush_subnormals(result)
        return floats.one_nan(floats.clamped(result, flags))

    if flags & {"ftz", "sat"}:
        return run
    return lambda *arrays: floats.one_nan(function(*arrays))


def rounded_op(
    nearest: Elementwise, ways: tuple[Callable[..., Any], Elementwise], count: int, known: str
) -> Decoder:
    """add, sub, mul, fma, div, rcp and sqrt: `.rn` as NumPy does it, other roundings of float32 in
    one of two `ways`. `known`: the other flags of float32."""
    in_mode, exact = ways

    def build(i: Instruction) -> Op:
        if "approx" in i.modifiers:
            return approximate(i)
        rounding = next((m for m in i.modifiers if m in ("rz", "rm", "rp")), "rn")
        kind, flags = modifiers_of(i, FLOATS, f"{rounding} {known}")
        dtype, function = DTYPES[kind], nearest
        if kind == "f64":
            refuse(flags - {rounding}, i)
            opcode = "fma" if i.opcode in ("mad", "contracted") else i.opcode
            function = nearest if rounding == "rn" else directed64(opcode, rounding)
            function = with_payload(function, FIRST_NAN.get(opcode, (0,)))
        elif nearest is not floats.fma32 or flags - {"rn"}:  # else it has the right NaN itself
            function = nearest if rounding == "rn" else in_mode(rounding)
            function = with_float_flags(function, flags, exact)
        return Op(function, (dtype,) * count, dtype)

    return build


def by_fma(factors: Elementwise) -> tuple[Callable[..., Any], Elementwise]:
    """A way to round: by the fma whose operands `factors` gives."""

    def in_mode(rounding: str) -> Elementwise:
        directed = floats.directed(rounding)
        return lambda *x: directed(*factors(*x))

    def exact(*x: Array) -> Any:
        a, b, c = factors(*x)
        return a * b + c

    return in_mode, exact


def by_odd(to_odd: Elementwise) -> tuple[Callable[..., Any], Elementwise]:
    """A way to round: from float64 that `to_odd` has rounded to odd."""

    def in_mode(rounding: str) -> Elementwise:
        return lambda *x: narrow(to_odd(*x), "f32", rounding).astype(np.float32)

    return in_mode, to_odd


def extreme_op(function: Elementwise) -> Decoder:
    """min and max of floats; of two, or on sm_100 of three float32."""

    def build(i: Instruction) -> Op:
        kind, flags = modifiers_of(i, FLOATS, "ftz NaN")
        dtype, count = DTYPES[kind], len(i.operands) - 1
        refuse(kind == "f64" and (flags or count > 2), i)
        if kind == "f64":
            return Op(with_payload(function, FIRST_NAN[i.opcode]), (dtype, dtype), dtype)
        of_two = floats.extreme(function, flags)
        extreme = lambda *x: functools.reduce(of_two, x)
        return Op(with_float_flags(extreme, flags & {"ftz"}), (dtype,) * count, dtype)

    return build


ONE = np.ones((1, 1), np.float32)
FLAGS = "ftz sat"
ADD = rounded_op(np.add, by_fma(lambda a, b: (a, ONE, b)), 2, FLAGS)
SUBTRACT = rounded_op(np.subtract, by_fma(lambda a, b: (a, ONE, -b)), 2, FLAGS)
PRODUCT = by_fma(lambda a, b: (a, b, np.copysign(np.float32(0), a * b)))  # and a zero of its sign
MULTIPLY = rounded_op(np.multiply, PRODUCT, 2, FLAGS)
DIVIDE = rounded_op(np.divide, by_odd(quotient32), 2, "ftz")
RECIPROCAL = rounded_op(np.reciprocal, by_odd(lambda x: quotient32(ONE, x)), 1, "ftz")
ROOT = rounded_op(np.sqrt, by_odd(root32), 1, "ftz")


def fma(i: Instruction) -> Op:
    """fma of all float types, rounded once."""
    if i.modifiers[-1] in HALF_TYPES:
        return half_op("fma")(i)
    nearest = floats.fma64 if i.modifiers[-1] == "f64" else floats.fma32
    return rounded_op(nearest, by_fma(lambda a, b, c: (a, b, c)), 3, FLAGS)(i)


def contracted(i: Instruction) -> Op:
    """A product and the sum that took it in (`contraction`): fma with signs."""
    words = tuple(m for m in i.modifiers if m[0] != "-")
    packed = words[-1].endswith("x2")
    op = fma(replace(i, opcode="fma", modifiers=words))
    if "-product" not in i.modifiers and "-addend" not in i.modifiers:
        return op
    change: Elementwise = np.negative
    if words[-1] == "f64":  # a NaN keeps its sign
        change = lambda x: np.where(np.isnan(x), x, -x)
    if words[-1] in HALF_TYPES:
        sign = op.result(0x80008000 if packed else 0x8000)
        change = lambda x: x ^ sign
    change_product, change_addend = (
        change if word in i.modifiers else lambda x: x for word in ("-product", "-addend")
    )
    function = lambda a, b, c: op.function(change_product(a), b, change_addend(c))
    return Op(function, op.sources, op.result)


def sign_op(floating: Elementwise, integer: Elementwise) -> Decoder:
    """abs and neg. `.ftz` and NaN aside, they only touch the sign bit."""

    def build(i: Instruction) -> Op:
        if i.modifiers[-1] in HALF_TYPES:
            return half_op(i.opcode)(i)
        if i.modifiers[-1] in FLOATS:
            kind, flags = modifiers_of(i, FLOATS, "ftz")
            refuse(kind == "f64" and flags, i)
            if kind == "f64":
                return Op(with_payload(floating, (0,)), (np.float64,), np.float64)
            return Op(with_float_flags(floating, flags), (np.float32,), np.float32)
        kind, _ = modifiers_of(i, {"s16", "s32", "s64"})
        return Op(integer, (DTYPES[kind],), DTYPES[kind])

    return build


def copysign(i: Instruction) -> Op:
    """The magnitude of b with the sign of a; a NaN keeps its bits."""
    kind, _ = modifiers_of(i, FLOATS)
    return Op(lambda a, b: np.copysign(b, a), (DTYPES[kind],) * 2, DTYPES[kind])
