"""float16 and bfloat16, alone and two in a word: f16, bf16, f16x2, bf16x2.

Values are computed in float64, where products are exact and sums are rounded to odd, and rounded
once from there. PTX ISA, chapters 9.7.4 (half precision arithmetic) and 9.7.5 (mixed).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..aliases import Array, Elementwise
from ..text.forms import Decoder, Op, modifiers_of
from ..text.syntax import Instruction
from .floats import clamped, extreme, maximum, minimum, sum_to_odd
from .rounding import narrow

HALF_TYPES = {"f16", "bf16", "f16x2", "bf16x2"}
WORDS = {"f16": np.uint16, "bf16": np.uint16}  # what alone they are read as
ONE = {"f16": np.uint16(0x3C00), "bf16": np.uint16(0x3F80)}
NAN = np.uint16(0x7FFF)
LEAST_NORMAL = {"f16": 2.0**-14, "bf16": 2.0**-126}


def wide(bits: Array, kind: str) -> Array:
    """uint16 -> float64."""
    if kind == "f16":
        return bits.view(np.float16).astype(np.float64)
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)


def pack(x: Array, kind: str, mode: str = "rn") -> Array:
    """float64, exact or rounded to odd -> uint16, rounded once; NaN is 0x7fff."""
    x = narrow(x, kind, mode)
    if kind == "f16":
        bits = x.astype(np.float16).view(np.uint16)
    else:
        bits = (x.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    return np.where(np.isnan(x), NAN, bits)


def fma(a: Array, b: Array, c: Array) -> Array:
    """a * b + c in float64, rounded to odd; the product is exact."""
    return sum_to_odd(a * b, c)


ARITHMETIC: dict[str, Elementwise] = {
    "add": lambda a, b: fma(a, np.ones_like(a), b),
    "sub": lambda a, b: fma(a, np.ones_like(a), -b),
    "mul": lambda a, b: a * b,
    "fma": fma,
    "neg": np.negative,
    "abs": np.abs,
    "min": minimum,
    "max": maximum,
    "tanh": np.tanh,
    "ex2": np.exp2,
}
FLAGS = {
    **dict.fromkeys(("add", "sub", "mul"), "rn ftz sat"),
    "fma": "rn ftz sat relu",
    **dict.fromkeys(("neg", "abs"), "ftz"),
    **dict.fromkeys(("min", "max"), "ftz NaN"),
    "tanh": "approx",
    "ex2": "approx ftz",
}


def half_op(opcode: str) -> Decoder:
    """The decoder of an opcode for the half types."""

    def build(i: Instruction) -> Op:
        kind, flags = modifiers_of(i, HALF_TYPES, FLAGS[opcode])
        single = kind.removesuffix("x2")
        function = element(opcode, single, flags)
        count = {"fma": 3, "neg": 1, "abs": 1, "tanh": 1, "ex2": 1}.get(opcode, 2)
        if kind == single:
            return Op(function, (np.uint16,) * count, np.uint16)
        return Op(by_halves(function), (np.uint32,) * count, np.uint32)

    return build


def element(opcode: str, kind: str, flags: set[str]) -> Callable[..., Any]:
    """The operation on uint16 arrays."""
    function = ARITHMETIC[opcode]
    if opcode in ("min", "max"):
        function = extreme(function, flags)

    def run(*bits: Array) -> Any:
        x = [wide(b, kind) for b in bits]
        if "ftz" in flags:
            x = [flush(v, kind) for v in x]
        result = clamped(function(*x), flags)
        return pack(flush(result, kind) if "ftz" in flags else result, kind)

    return run


def flush(x: Array, kind: str) -> Array:
    """Subnormal numbers of the type become zeros of the same sign."""
    return np.where(np.abs(x) < LEAST_NORMAL[kind], np.copysign(0.0, x), x)


def halves(x: Array) -> Any:
    """uint32 -> its low and high uint16."""
    return x.astype(np.uint16), (x >> np.uint32(16)).astype(np.uint16)


def join(low: Array, high: Array) -> Array:
    """Two uint16 as the low and the high half of uint32."""
    return low.astype(np.uint32) | high.astype(np.uint32) << np.uint32(16)


def by_halves(function: Elementwise) -> Callable[..., Any]:
    """Operate on both halves of words."""

    def run(*words: Array) -> Any:
        low, high = zip(*map(halves, words))
        return join(function(*low), function(*high))

    return run
