"""The arithmetic of PTX: a table from opcode to what it computes.

`OPS[opcode](instruction)` reads the modifiers and returns an `Op`: a function of NumPy arrays,
the types it wants its operands viewed as, and the type of its result. The functions know
nothing of registers, masks or threads. Semantics: PTX ISA, chapter 9.7.

A modifier that an opcode does not list raises `Unsupported`: never a wrong answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..aliases import Array, Elementwise
from ..text.forms import BITS, DTYPES, FLOATS, INTEGERS, Decoder, Op, bits, modifiers_of, refuse
from ..text.syntax import Instruction, Vector
from . import float_ops, floats, integers
from .approximate import approximate, division
from .comparison import COMPARE
from .convert import cvt
from .half import HALF_TYPES, half_op
from .packed import PACKED, two_in_a_word

# -- builders: how a NumPy function becomes an opcode -----------------------------------------


def number_op(integer: Elementwise, floating: Elementwise | None, count: int) -> Decoder:
    """An opcode with integer and float forms."""

    def build(i: Instruction) -> Op:
        if floating and i.modifiers[-1] in FLOATS:
            return floating(i)
        if floating and i.modifiers[-1] in HALF_TYPES:
            return half_op(i.opcode)(i)
        if "cc" in i.modifiers:
            return with_carry(i)
        if {"s16x2", "u16x2"} & set(i.modifiers):
            return two_in_a_word(i)
        words = i.modifiers
        if words[-1] == "relu":  # max.s32.relu
            i = replace(i, modifiers=("relu", *words[:-1]))
        kind, flags = modifiers_of(i, INTEGERS, "sat relu")
        if "sat" in flags and kind == "s32" and i.opcode in ("add", "sub"):
            return Op(saturated(integer), (np.int32,) * count, np.int32)
        if "relu" in flags and kind == "s32" and i.opcode in ("min", "max"):
            return Op(lambda a, b: np.maximum(integer(a, b), 0), (np.int32,) * count, np.int32)
        refuse(flags, i)
        return Op(integer, (DTYPES[kind],) * count, DTYPES[kind])

    return build


def saturated(function: Elementwise) -> Callable[..., Any]:
    """add.sat and sub.sat: clamped to the range of int32."""
    wide = lambda x: x.astype(np.int64)
    return lambda a, b: np.clip(function(wide(a), wide(b)), -(2**31), 2**31 - 1).astype(np.int32)


def typed(function: Elementwise, types: set[str], sources: str, result: str = "t") -> Decoder:
    """An opcode of one type. A letter for each operand, and for the result: "t" is of that type,
    "u" a uint32."""

    def build(i: Instruction) -> Op:
        kind, _ = modifiers_of(i, types)
        dtype = {"t": DTYPES[kind], "u": np.uint32}
        return Op(function, tuple(dtype[each] for each in sources), dtype[result])

    return build


# -- integers ---------------------------------------------------------------------------------


def product(i: Instruction) -> tuple[Elementwise, type, type]:
    """The product of mul and mad: (function, operand type, result type)."""
    kind, flags = modifiers_of(i, INTEGERS, "lo hi wide")
    dtype = DTYPES[kind]
    if flags == {"lo"}:
        return np.multiply, dtype, dtype
    if flags == {"hi"}:
        return integers.multiply_high, dtype, dtype
    refuse(flags != {"wide"} or bits(kind) == 64, i)
    return integers.multiply_wide, dtype, DTYPES[f"{kind[0]}{2 * bits(kind)}"]


def mul(i: Instruction) -> Op:
    """mul: the low or high half, or the whole, of a product of integers; a product of floats."""
    if i.modifiers[-1] in FLOATS:
        return float_ops.MULTIPLY(i)
    if i.modifiers[-1] in HALF_TYPES:
        return half_op("mul")(i)
    function, dtype, result = product(i)
    return Op(function, (dtype, dtype), result)


def mad(i: Instruction) -> Op:
    """mad: a product, and what is added to it."""
    if i.modifiers[-1] in FLOATS:
        return float_ops.fma(i)
    if "cc" in i.modifiers:
        return with_carry(i)
    function, dtype, result = product(i)
    return Op(lambda a, b, c: function(a, b) + c, (dtype, dtype, result), result)


def with_carry(i: Instruction) -> Op:
    """add, sub, mad with `.cc`, and addc, subc, madc: the flag is an operand (`explicit`)."""
    words = tuple(m for m in i.modifiers if m != "cc")
    kind = words[-1]
    refuse(kind not in ("u32", "s32", "u64", "s64"), i)
    plain, reads = i.opcode.removesuffix("c"), i.opcode.endswith("c")
    unsigned, sets = DTYPES[f"u{kind[1:]}"], "cc" in i.modifiers
    function = integers.subtract_with_carry if plain == "sub" else integers.add_with_carry
    count = 2
    if plain == "mad":
        multiply, dtype, _ = product(replace(i, modifiers=words))
        count = 3
    refuse(plain != "mad" and len(words) > 1, i)

    def run(*x: Array) -> Any:
        flag = x[count] if reads else unsigned(plain == "sub")
        a, b = x[:2]
        if plain == "mad":
            a, b = multiply(a.view(dtype), b.view(dtype)).view(unsigned), x[2]
        result = function(a, b, flag)
        return result if sets else result[0]

    return Op(run, (unsigned,) * (count + reads), unsigned)


def mul24(i: Instruction) -> Op:
    """mul24 and mad24: products of the low 24 bits."""
    kind, flags = modifiers_of(i, {"u32", "s32"}, "lo hi")
    refuse(len(flags) != 1, i)
    high, dtype = "hi" in flags, DTYPES[kind]
    if i.opcode == "mul24":
        return Op(lambda a, b: integers.multiply_24(a, b, high), (dtype,) * 2, dtype)
    return Op(lambda a, b, c: integers.multiply_24(a, b, high) + c, (dtype,) * 3, dtype)


def shf(i: Instruction) -> Op:
    """shf: a funnel shift, left or right, whose count stops at 32 or wraps around."""
    _, flags = modifiers_of(i, {"b32"}, "l r clamp wrap")
    refuse(len(flags & {"l", "r"}) != 1 or len(flags & {"clamp", "wrap"}) != 1, i)
    return Op(
        lambda low, high, n: integers.funnel_shift(low, high, n, "l" in flags, "wrap" in flags),
        (np.uint32,) * 3,
        np.uint32,
    )


def bfind(i: Instruction) -> Op:
    """bfind: the highest bit that counts, by position or by shift amount."""
    kind, flags = modifiers_of(i, INTEGERS - {"u16", "s16"}, "shiftamt")
    return Op(lambda x: integers.highest_bit(x, "shiftamt" in flags), (DTYPES[kind],), np.uint32)


def bmsk(i: Instruction) -> Op:
    """bmsk: ones from a bit on; where and how many is at most 32, or modulo 32."""
    _, flags = modifiers_of(i, {"b32"}, "clamp wrap")
    refuse(len(flags) != 1, i)
    fit = lambda x: x % 32 if "wrap" in flags else np.minimum(x, 32)
    ones = lambda count: integers.low_ones(count, np.uint32)
    return Op(lambda a, b: ones(fit(a) + fit(b)) & ~ones(fit(a)), (np.uint32,) * 2, np.uint32)


def hold(i: Instruction) -> Op:
    """What stands where a product was that is computed with its sum: its factors, if they may
    change before that, and itself, if another sum needs it."""
    kept = len(i.operands[0].elements)
    if not kept:
        return Op(lambda: (), (), np.uint32)
    multiply = mul(replace(i, opcode="mul"))
    function = (lambda a, b: (a, b)) if kept == 2 else lambda a, b: (a, b, multiply.function(a, b))
    return Op(function, multiply.sources, multiply.result)


def div(i: Instruction) -> Op:
    """div of integers and floats, in all roundings and approximately."""
    if {"full", "approx"} & set(i.modifiers):
        return division(i)
    if i.modifiers[-1] in FLOATS:
        return float_ops.DIVIDE(i)
    return number_op(integers.divide, None, 2)(i)


def pair(low: Array, high: Array) -> Array:
    """Two uint64 as 128 bits."""
    both = np.empty(np.broadcast_shapes(low.shape, high.shape), DTYPES["b128"])
    both["low"], both["high"] = low, high
    return both


def mov(i: Instruction) -> Op:
    """A copy; with a vector on one side it splits or joins bit patterns, `.v4` copies each."""
    if i.modifiers[0] in ("v2", "v4"):
        dtype, count = DTYPES[i.modifiers[-1]], int(i.modifiers[0][1])
        return Op(lambda *x: x, (dtype,) * count, dtype)
    kind, _ = modifiers_of(i, INTEGERS | FLOATS | BITS | {"pred", "b128"})
    target, _ = i.operands
    vector = next((operand for operand in i.operands if isinstance(operand, Vector)), None)
    if vector is None:
        return Op(lambda x: x, (DTYPES[kind],), DTYPES[kind])
    count = len(vector.elements)
    width = bits(kind) // count
    part, whole = DTYPES[f"b{width}"], DTYPES[f"b{bits(kind)}"]
    if kind == "b128":
        refuse(count != 2, i)
        if vector is target:
            return Op(lambda x: (x["low"], x["high"]), (whole,), part)
        return Op(pair, (part,) * 2, whole)

    def divide(x: Array) -> Any:
        return tuple((x >> whole(n * width)).astype(part) for n in range(count))

    def join(*parts: Array) -> Any:
        result = whole(0)
        for n, each in enumerate(parts):
            result = result | each.astype(whole) << whole(n * width)
        return result

    if vector is target:
        return Op(divide, (whole,), part)
    return Op(join, (part,) * count, whole)


def operation(i: Instruction) -> Op:
    """What an instruction computes; of f32x2, in each half of 64 bits."""
    if i.modifiers[-1:] != ("f32x2",):
        return OPS[i.opcode](i)
    refuse(i.opcode not in ("add", "sub", "mul", "fma"), i)
    op = OPS[i.opcode](replace(i, modifiers=(*i.modifiers[:-1], "f32")))
    halves = lambda x: np.ascontiguousarray(x)[..., None].view(np.float32)
    both = lambda *x: np.ascontiguousarray(op.function(*map(halves, x))).view(np.uint64)[..., 0]
    return Op(both, (np.uint64,) * len(op.sources), np.uint64)


LOGICAL, LONG = BITS | {"pred"}, {"b32", "b64"}

OPS: dict[str, Callable[[Instruction], Op]] = {
    "add": number_op(np.add, float_ops.ADD, 2),
    "sub": number_op(np.subtract, float_ops.SUBTRACT, 2),
    "mul": mul,
    "mad": mad,
    "fma": float_ops.fma,
    "div": div,
    "rem": number_op(integers.remainder, None, 2),
    "abs": float_ops.sign_op(np.abs, np.abs),
    "neg": float_ops.sign_op(np.negative, np.negative),
    "min": number_op(np.minimum, float_ops.extreme_op(floats.minimum), 2),
    "max": number_op(np.maximum, float_ops.extreme_op(floats.maximum), 2),
    "sqrt": float_ops.ROOT,
    "rcp": float_ops.RECIPROCAL,
    **dict.fromkeys(("rsqrt", "lg2", "sin", "cos"), approximate),
    "ex2": lambda i: half_op("ex2")(i) if i.modifiers[-1] in HALF_TYPES else approximate(i),
    "tanh": lambda i: half_op("tanh")(i) if i.modifiers[-1] in HALF_TYPES else approximate(i),
    "copysign": float_ops.copysign,
    "contracted": float_ops.contracted,
    "hold": hold,
    "hold.div": division,
    "and": typed(np.bitwise_and, LOGICAL, "tt"),
    "or": typed(np.bitwise_or, LOGICAL, "tt"),
    "xor": typed(np.bitwise_xor, LOGICAL, "tt"),
    "not": typed(np.invert, LOGICAL, "t"),
    "shl": typed(integers.shift_left, BITS, "tu"),
    "shr": typed(integers.shift_right, BITS | INTEGERS, "tu"),
    "shf": shf,
    "lop3": typed(integers.bitwise_function, {"b32"}, "tttt"),
    "prmt": typed(integers.permute_bytes, {"b32"}, "ttt"),
    "bfe": typed(integers.extract_bits, INTEGERS - {"u16", "s16"}, "tuu"),
    "bfi": typed(integers.insert_bits, LONG, "ttuu"),
    "bfind": bfind,
    "bmsk": bmsk,
    "popc": typed(lambda x: np.bitwise_count(x).astype(np.uint32), LONG, "t", "u"),
    "clz": typed(integers.leading_zeros, LONG, "t", "u"),
    "brev": typed(integers.reverse_bits, LONG, "t"),
    "sad": number_op(integers.absolute_difference, None, 3),
    "mul24": mul24,
    "mad24": mul24,
    **dict.fromkeys(("addc", "subc", "madc"), with_carry),
    "fns": typed(integers.find_nth_set, {"b32"}, "ttt"),
    "cvt": cvt,
    "mov": mov,
    **PACKED,
    **COMPARE,
}
