"""Integers in parts of a word: dp4a, dp2a, vadd4 and its like, s16x2 and u16x2.

Dot products: PTX ISA, chapter 9.7.1; video instructions: chapter 9.7.19.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..aliases import Array, Elementwise
from ..text.forms import Op, refuse, signed
from ..text.syntax import Instruction
from .comparison import SIGNED_COMPARE


def fields(x: Array, width: int, signed: bool) -> list[Any]:
    """uint32 -> its fields of 8, 16 or 32 bits, the lowest first, as int64."""
    parts = np.ascontiguousarray(x)[..., None].view(f"{'i' if signed else 'u'}{width // 8}")
    return list(np.moveaxis(parts.astype(np.int64), -1, 0))


def word(values: Sequence[Array], width: int) -> Any:
    """The inverse: the low bits of each value."""
    return np.stack(values, -1).astype(f"u{width // 8}").view(np.uint32)[..., 0]


def dot(i: Instruction) -> Op:
    """dp4a.atype.btype d, a, b, c: c plus four products of bytes. dp2a.{lo,hi}: plus those of two
    16-bit fields of a and the lower or upper two bytes of b."""
    *half, a_type, b_type = i.modifiers
    four = i.opcode == "dp4a"
    refuse(half not in ([[]] if four else [["lo"], ["hi"]]), i)
    refuse(not {a_type, b_type} <= {"s32", "u32"}, i)
    width, first = 8 if four else 16, 2 if half == ["hi"] else 0

    def run(a: Array, b: Array, c: Array) -> Array:
        pairs = zip(fields(a, width, signed(a_type)), fields(b, 8, signed(b_type))[first:])
        return c + word([sum(x * y for x, y in pairs)], 32)

    return Op(run, (np.uint32,) * 3, np.uint32)


VIDEO: dict[str, Elementwise] = {
    "vadd": np.add,
    "vsub": np.subtract,
    "vavrg": lambda x, y: (x + y + (x + y >= 0)) >> 1,
    "vabsdiff": lambda x, y: np.abs(x - y),
    "vmin": np.minimum,
    "vmax": np.maximum,
}
SHIFTS: dict[str, Elementwise] = {"vshl": np.left_shift, "vshr": np.right_shift}
AMOUNTS: dict[str, Elementwise] = {"clamp": lambda n: np.minimum(n, 32), "wrap": lambda n: n & 31}


def video(i: Instruction) -> Op:
    """vadd4 and its like, on all fields of a word: `.dtype.atype.btype{.sat}{.add} d, a, b, c`;
    vset4: `.atype.btype.cmp{.add}`. vadd and its like, on words: also vshl and vshr, with how far
    they shift at most; ptxas has more of them, which it does in other ways than PTX says.

    With `.add` the fields' results are summed onto c, else c is what unselected fields keep;
    all fields are selected, and no operand names its fields."""
    name, words = i.opcode.rstrip("24"), i.modifiers
    action = VIDEO.get(name, np.equal)
    if name == "vset":
        refuse(len(words) < 3 or words[2] not in SIGNED_COMPARE, i)
        words, action = ("u32", *words[:2], *words[3:]), SIGNED_COMPARE[words[2]]
    elif name in SHIFTS:
        shift, amount, words = SHIFTS[name], AMOUNTS[words[3]], (*words[:3], *words[4:])
        action = lambda x, n: shift(x, amount(n))
        refuse("sat" in words or words[2] != "u32", i)
    width, flags = 32 // int(i.opcode[len(name) :] or 1), set(words[3:])
    d_type, a_type, b_type = words[:3]
    known = {d_type, a_type, b_type} <= {"s32", "u32"} and flags <= {"sat", "add"}
    least = 3 + ("add" in flags)
    refuse(not known or len(flags) > 1 or len(i.operands) < least, i)
    refuse(width == 32 and len(i.operands) > least, "a result of which c keeps a part")
    limits = np.iinfo(f"{'i' if signed(d_type) else 'u'}{width // 8}")

    def run(a: Array, b: Array, c: Array | None = None) -> Array:
        pairs = zip(fields(a, width, signed(a_type)), fields(b, width, signed(b_type)))
        results = [action(x, y) for x, y in pairs]
        if "sat" in flags:
            results = [np.clip(x, limits.min, limits.max) for x in results]
        if "add" in flags:
            return c + word([sum(results)], 32)
        return word(results, width)

    return Op(run, (np.uint32,) * (len(i.operands) - 1), np.uint32)


def two_in_a_word(i: Instruction) -> Op:
    """add, min, max of s16x2 and u16x2, with `.relu` for the signed ones."""
    words = set(i.modifiers)
    (kind,) = words & {"s16x2", "u16x2"}
    refuse(words - {kind, "relu"} or ("relu" in words and (kind[0] == "u" or i.opcode == "add")), i)
    of = (f"{kind[0]}32",) * 2
    types = ("u32", *of, "sat") if "relu" in words else (of[0], *of)
    return video(replace(i, opcode=f"v{i.opcode}2", modifiers=types))


PACKED = {
    **dict.fromkeys(("dp4a", "dp2a"), dot),
    **{f"{name}{count}": video for name in (*VIDEO, "vset") for count in ("2", "4", "")},
    **dict.fromkeys(SHIFTS, video),
}
