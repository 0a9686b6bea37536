"""Integers in parts of a word: dp4a, dp2a, vabsdiff2 and vabsdiff4, s16x2 and u16x2.

Dot products: PTX ISA, chapter 9.7.1; video instructions: chapter 9.7.19.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..aliases import Array, Elementwise
from ..text.forms import Op, refuse, signed
from ..text.syntax import Instruction


def fields(x: Array, width: int, signed: bool) -> list[Any]:
    """uint32 -> its fields of 8, 16 or 32 bits, the lowest first, as int64."""
    dtype = np.dtype(f"{'i' if signed else 'u'}{width // 8}")
    unsigned = np.dtype(f"u{width // 8}")
    return [
        (x >> np.uint32(n)).astype(unsigned).view(dtype).astype(np.int64)
        for n in range(0, 32, width)
    ]


def word(values: Sequence[Array], width: int) -> Array:
    """The inverse: the low bits of each value."""
    result: Any = np.uint32(0)
    for n, x in enumerate(values):
        part = (x & np.int64((1 << width) - 1)).astype(np.uint32)
        result = result | part << np.uint32(n * width)
    return result


def dot4(i: Instruction) -> Op:
    """dp4a.atype.btype d, a, b, c: c plus four products of bytes."""
    a_type, b_type = _two_types(i.modifiers)

    def run(a: Array, b: Array, c: Array) -> Array:
        pairs = zip(fields(a, 8, a_type == "s32"), fields(b, 8, b_type == "s32"))
        return c + word([sum(x * y for x, y in pairs)], 32)

    return Op(run, (np.uint32,) * 3, np.uint32)


def dot2(i: Instruction) -> Op:
    """dp2a.{lo,hi}: two 16-bit fields of a times the lower or upper two bytes of b."""
    half, *types = i.modifiers
    a_type, b_type = _two_types(types)
    refuse(half not in ("lo", "hi"), i)
    first = 0 if half == "lo" else 2

    def run(a: Array, b: Array, c: Array) -> Array:
        bytes_ = fields(b, 8, b_type == "s32")[first : first + 2]
        pairs = zip(fields(a, 16, a_type == "s32"), bytes_)
        return c + word([sum(x * y for x, y in pairs)], 32)

    return Op(run, (np.uint32,) * 3, np.uint32)


def _two_types(types: Sequence[str]) -> tuple[str, str]:
    """The types of the two factors, each u32 or s32."""
    refuse(len(types) != 2 or not set(types) <= {"s32", "u32"}, ".".join(types))
    return types[0], types[1]


def clamp(x: Array, width: int, signed: bool) -> Any:
    """Kept within the range of a field of so many bits."""
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
    return np.clip(x, low, high)


def video(i: Instruction) -> Op:
    """vabsdiff2 and vabsdiff4 on all fields of a word: `.dtype.atype.btype{.sat}{.add} d, a, b, c`.

    With `.add` the fields' results are summed onto c, else c is what unselected fields keep;
    all fields are selected, and no operand names its fields."""
    width = 32 // int(i.opcode[-1])
    flags = set(i.modifiers[3:])
    d_type, a_type, b_type = i.modifiers[:3]
    known = {d_type, a_type, b_type} <= {"s32", "u32"} and flags <= {"sat", "add"}
    refuse(not known or len(i.operands) < 3, i)

    def run(a: Array, b: Array, c: Array | None = None) -> Array:
        pairs = zip(fields(a, width, signed(a_type)), fields(b, width, signed(b_type)))
        results = [np.abs(x - y) for x, y in pairs]
        if "sat" in flags:
            results = [clamp(x, width, signed(d_type)) for x in results]
        if "add" in flags:
            return c + word([sum(results)], 32)
        return word(results, width)

    return Op(run, (np.uint32,) * (len(i.operands) - 1), np.uint32)


ACTIONS: dict[str, Elementwise] = {"add": np.add, "min": np.minimum, "max": np.maximum}


def two_in_a_word(i: Instruction) -> Op:
    """add, min, max of s16x2 and u16x2, with `.relu` for the signed ones."""
    words = set(i.modifiers)
    (kind,) = words & {"s16x2", "u16x2"}
    refuse(words - {kind, "relu"} or ("relu" in words and (kind[0] == "u" or i.opcode == "add")), i)
    action = ACTIONS[i.opcode]

    def run(a: Array, b: Array) -> Array:
        pairs = zip(fields(a, 16, kind[0] == "s"), fields(b, 16, kind[0] == "s"))
        results = [action(x, y) for x, y in pairs]
        if "relu" in words:
            results = [np.maximum(x, 0) for x in results]
        return word(results, 16)

    return Op(run, (np.uint32, np.uint32), np.uint32)


PACKED = {
    "dp4a": dot4,
    "dp2a": dot2,
    **dict.fromkeys(("vabsdiff2", "vabsdiff4"), video),
}
