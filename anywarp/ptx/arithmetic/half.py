"""float16 and bfloat16, alone and two in a word: f16, bf16, f16x2, bf16x2.

Values are computed in float64, where products are exact and sums are rounded to odd, and rounded
once from there. PTX ISA, chapters 9.7.4 (half precision arithmetic) and 9.7.5 (mixed).
"""

from __future__ import annotations

import numpy as np

from ..text.forms import Op, Unsupported, modifiers_of, refuse
from ..text.syntax import Vector
from .comparison import BOOLEAN, FLOAT_COMPARE
from .floats import error_of_sum, maximum, minimum, to_odd
from .rounding import narrow

KINDS = {"f16", "bf16", "f16x2", "bf16x2"}
NAN = np.uint16(0x7FFF)
LEAST_NORMAL = {"f16": 2.0**-14, "bf16": 2.0**-126}


def wide(bits, kind: str):
    """uint16 -> float64."""
    if kind == "f16":
        return bits.view(np.float16).astype(np.float64)
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)


def pack(x, kind: str, mode: str = "rn"):
    """float64, exact or rounded to odd -> uint16, rounded once; NaN is 0x7fff."""
    x = narrow(x, kind, mode)
    if kind == "f16":
        bits = x.astype(np.float16).view(np.uint16)
    else:
        bits = (x.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    return np.where(np.isnan(x), NAN, bits)


def fma(a, b, c):
    product = a * b
    s = product + c
    return to_odd(s, error_of_sum(product, c, s))


ARITHMETIC = {
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
    **dict.fromkeys(("min", "max"), "ftz NaN xorsign abs"),
    "tanh": "approx",
    "ex2": "approx ftz",
}


def half_op(opcode: str):
    """The decoder of an opcode for the half types."""

    def build(i):
        kind, flags = modifiers_of(i, KINDS, FLAGS[opcode])
        one = kind.removesuffix("x2")
        function = element(opcode, one, flags)
        count = {"fma": 3, "neg": 1, "abs": 1, "tanh": 1, "ex2": 1}.get(opcode, 2)
        if kind == one:
            return Op(function, (np.uint16,) * count, np.uint16)
        return Op(by_halves(function), (np.uint32,) * count, np.uint32)

    return build


def element(opcode: str, kind: str, flags: set[str]):
    """The operation on uint16 arrays."""
    function = ARITHMETIC[opcode]

    def run(*bits):
        x = [wide(b, kind) for b in bits]
        if "ftz" in flags:
            x = [flush(v, kind) for v in x]
        if "xorsign" in flags:
            sign = np.signbit(x[0]) ^ np.signbit(x[1])
            x = [np.abs(v) for v in x]
        result = function(*x)
        if "NaN" in flags:
            result = np.where(np.isnan(x[0]) | np.isnan(x[1]), np.nan, result)
        if "xorsign" in flags:
            result = np.where(sign, -result, result)
        if "sat" in flags:
            result = np.where(result > 0, np.minimum(result, 1.0), 0.0)
        if "relu" in flags:
            result = np.where(np.isnan(result) | (result > 0), result, 0.0)
        if "ftz" in flags:
            result = flush(result, kind)
        return pack(result, kind)

    return run


def flush(x, kind: str):
    return np.where(np.abs(x) < LEAST_NORMAL[kind], np.copysign(0.0, x), x)


def halves(x):
    """uint32 -> its low and high uint16."""
    return x.astype(np.uint16), (x >> np.uint32(16)).astype(np.uint16)


def join(low, high):
    return low.astype(np.uint32) | high.astype(np.uint32) << np.uint32(16)


def by_halves(function):
    """Operate on both halves of words."""

    def run(*words):
        low, high = zip(*map(halves, words))
        return join(function(*low), function(*high))

    return run


def compared(i):
    """setp and set of half types: `.lt.ftz.f16x2`, `.eq.u32.f16x2`, `.eq.f16.f16`."""
    name, *middle, kind = i.modifiers
    one = kind.removesuffix("x2")
    flags, compare = set(middle), FLOAT_COMPARE.get(name)
    combine = BOOLEAN[(flags & BOOLEAN.keys()).pop()] if flags & BOOLEAN.keys() else None
    result = flags - {"ftz"} - BOOLEAN.keys()
    refuse(compare is None or len(result) > (i.opcode == "set"), i)

    def test(a, b):
        x, y = wide(a, one), wide(b, one)
        if "ftz" in flags:
            x, y = flush(x, one), flush(y, one)
        return compare(x, y)

    word = np.uint32 if kind != one else np.uint16
    parts = halves if kind != one else lambda x: (x,)
    third = (np.bool_,) if combine else ()
    if i.opcode == "setp":
        both = isinstance(i.operands[0], Vector)

        def run(a, b, c=None):
            truths = [test(x, y) for x, y in zip(parts(a), parts(b))]
            if combine:
                truths = [combine(t, c) for t in truths]
            elif both and kind == one:
                truths.append(~truths[0])
            return tuple(truths) if both else truths[0]

        return Op(run, (word, word, *third), np.bool_)
    target = result.pop()
    bits = np.dtype(word).itemsize * 8 // len(parts(np.zeros(1, word)))
    if target == kind:
        true = {"f16": 0x3C00, "bf16": 0x3F80}[one]
    elif target[1:] in ("32", "16") and target[0] in "us":
        true = (1 << bits) - 1 if kind != one else (1 << int(target[1:])) - 1
    else:
        raise Unsupported(".".join(i.modifiers))
    width = np.uint32 if kind != one or target.endswith("32") else np.uint16

    def run(a, b, c=None):
        truths = [test(x, y) for x, y in zip(parts(a), parts(b))]
        if combine:
            truths = [combine(t, c) for t in truths]
        values = [np.where(t, width(true), width(0)) for t in truths]
        return values[0] if kind == one else values[0] | values[1] << np.uint32(16)

    return Op(run, (word, word, *third), width)
