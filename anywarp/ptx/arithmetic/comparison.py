"""Comparison and selection: setp, set, selp. PTX ISA, chapter 9.7.6."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..aliases import Array, Elementwise
from ..text.forms import BITS, DTYPES, FLOATS, INTEGERS, Op, modifiers_of, refuse
from ..text.syntax import Instruction, Vector
from . import floats, half


def unordered(compare: Elementwise) -> Elementwise:
    """The comparison, which is also true where an operand is NaN."""
    return lambda a, b: compare(a, b) | np.isnan(a) | np.isnan(b)


SIGNED_COMPARE: dict[str, Elementwise] = {
    name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}
INTEGER_COMPARE = SIGNED_COMPARE | {"lo": operator.lt, "ls": operator.le}
INTEGER_COMPARE |= {"hi": operator.gt, "hs": operator.ge}
FLOAT_COMPARE: dict[str, Elementwise] = {
    **SIGNED_COMPARE,
    **{f"{name}u": unordered(compare) for name, compare in SIGNED_COMPARE.items()},
    "ne": lambda a, b: (a < b) | (a > b),
    "num": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "nan": lambda a, b: np.isnan(a) | np.isnan(b),
}
BOOLEAN = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def comparison(
    modifiers: tuple[str, ...], opposite: bool = False
) -> tuple[Callable[..., list[Any]], tuple[Any, ...]]:
    """`.lt.and.s32` -> (compare, types of its operands). It gives a list of a truth, or of two: for
    the halves of a word, or the second its `opposite`. A third operand is combined with each."""
    name, *middle, kind = modifiers
    single = kind.removesuffix("x2")
    table = FLOAT_COMPARE if single in FLOATS | half.ONE.keys() else INTEGER_COMPARE
    known = FLOATS | INTEGERS | BITS | half.HALF_TYPES
    refuse(kind not in known or name not in table, ".".join(modifiers))
    flush = "ftz" in middle
    middle = [word for word in middle if word != "ftz"]
    refuse(middle and (len(middle) > 1 or middle[0] not in BOOLEAN), ".".join(modifiers))
    dtype = np.uint32 if kind != single else half.WORDS.get(kind) or DTYPES[kind]

    def value(x: Array) -> Array:
        if single in half.ONE:
            wide = half.wide(x, single)
            return half.flush(wide, single) if flush else wide
        return floats.flush_subnormals(x) if flush else x

    def compare(a: Array, b: Array, *c: Array) -> list[Any]:
        parts = zip(half.halves(a), half.halves(b)) if kind != single else [(a, b)]
        truths = [table[name](value(x), value(y)) for x, y in parts]
        truths += [~truths[0]] * (opposite and kind == single)
        return [BOOLEAN[middle[0]](truth, *c) for truth in truths] if middle else truths

    return compare, (dtype, dtype, np.bool_) if middle else (dtype, dtype)


def setp(i: Instruction) -> Op:
    """setp p|q: q gets the opposite of p, or what the upper half says."""
    two = isinstance(i.operands[0], Vector)
    compare, sources = comparison(i.modifiers, two)

    def run(*operands: Array) -> Any:
        truths = compare(*operands)
        return tuple(truths) if two else truths[0]

    return Op(run, sources, np.bool_)


def set_(i: Instruction) -> Op:
    """set: a comparison whose result is all ones, or 1.0."""
    *rest, result, kind = i.modifiers
    compare, sources = comparison((*rest, kind))
    single = kind.removesuffix("x2")
    if single in half.ONE and result == kind:
        true: Any = half.ONE[single]
    elif single not in half.ONE and result == "f32":
        true = np.float32(1)
    else:
        shorts = {"u16", "s16"} if single in half.ONE else set()
        refuse(result not in {"u32", "s32"} | shorts, i)
        true = ~DTYPES[result if kind == single else "u16"](0)

    def run(*operands: Array) -> Any:
        values = [np.where(truth, true, true.dtype.type(0)) for truth in compare(*operands)]
        return half.join(*values) if len(values) == 2 else values[0]

    return Op(run, sources, np.uint32 if kind != single else true.dtype.type)


def selp(i: Instruction) -> Op:
    """selp d, a, b, p: a where p is true, else b."""
    kind, _ = modifiers_of(i, INTEGERS | FLOATS | BITS)
    dtype = DTYPES[kind]
    return Op(lambda a, b, p: np.where(p, a, b), (dtype, dtype, np.bool_), dtype)


COMPARE = {"setp": setp, "set": set_, "selp": selp}
