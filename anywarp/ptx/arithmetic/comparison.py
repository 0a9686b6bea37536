"""Comparison and selection: setp, set, selp, slct, testp. PTX ISA, chapter 9.7.6."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..text.forms import (
    BITS,
    DTYPES,
    FLOATS,
    INTEGERS,
    Op,
    modifiers_of,
    refuse,
    signed,
)
from ..text.syntax import Vector
from . import floats


def unordered(compare: Callable) -> Callable:
    return lambda a, b: compare(a, b) | np.isnan(a) | np.isnan(b)


SIGNED_COMPARE = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
INTEGER_COMPARE = {
    **SIGNED_COMPARE,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}
FLOAT_COMPARE = {
    "eq": np.equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "ne": lambda a, b: (a < b) | (a > b),
    "equ": unordered(np.equal),
    "neu": np.not_equal,
    "ltu": unordered(np.less),
    "leu": unordered(np.less_equal),
    "gtu": unordered(np.greater),
    "geu": unordered(np.greater_equal),
    "num": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "nan": lambda a, b: np.isnan(a) | np.isnan(b),
}
BOOLEAN = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def comparison(modifiers: tuple[str, ...]) -> tuple[Callable, Callable | None, type]:
    """`.lt.and.s32` -> (compare, combine with a third operand or None, operand type)."""
    name, *middle, kind = modifiers
    table = FLOAT_COMPARE if kind in FLOATS else INTEGER_COMPARE
    refuse(kind not in FLOATS | INTEGERS | BITS or name not in table, ".".join(modifiers))
    compare = table[name]
    if "ftz" in middle:
        middle.remove("ftz")
        ordinary = compare
        compare = lambda a, b: ordinary(floats.flush_subnormals(a), floats.flush_subnormals(b))
    refuse(middle and (len(middle) > 1 or middle[0] not in BOOLEAN), ".".join(modifiers))
    return compare, BOOLEAN[middle[0]] if middle else None, DTYPES[kind]


def setp(i):
    compare, combine, dtype = comparison(i.modifiers)
    two = isinstance(i.operands[0], Vector)  # p|q: q gets the opposite comparison

    def run(a, b, c=None):
        p = compare(a, b)
        if combine is None:
            return (p, ~p) if two else p
        return (combine(p, c), combine(~p, c)) if two else combine(p, c)

    sources = (dtype, dtype) if combine is None else (dtype, dtype, np.bool_)
    return Op(run, sources, np.bool_)


def set_(i):
    """set: a comparison whose result is all ones, or 1.0."""
    *rest, result, kind = i.modifiers
    compare, combine, dtype = comparison((*rest, kind))
    refuse(result not in ("u32", "s32", "f32"), i)
    true = np.float32(1) if result == "f32" else DTYPES[result](-1 if signed(result) else 2**32 - 1)

    def run(a, b, c=None):
        p = compare(a, b) if combine is None else combine(compare(a, b), c)
        return np.where(p, true, true.dtype.type(0))

    sources = (dtype, dtype) if combine is None else (dtype, dtype, np.bool_)
    return Op(run, sources, DTYPES[result])


def selp(i):
    kind, _ = modifiers_of(i, INTEGERS | FLOATS | BITS)
    dtype = DTYPES[kind]
    return Op(lambda a, b, p: np.where(p, a, b), (dtype, dtype, np.bool_), dtype)


def slct(i):
    """slct d, a, b, c: a where c >= 0, else b."""
    kind, selector = i.modifiers[-2:]
    refuse(len(i.modifiers) != 2 or selector not in ("s32", "f32"), i)
    dtype = DTYPES[kind]
    return Op(lambda a, b, c: np.where(c >= 0, a, b), (dtype, dtype, DTYPES[selector]), dtype)


def testp(i):
    tests = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "notanumber": np.isnan,
        "number": lambda x: ~np.isnan(x),
        "normal": lambda x: np.isfinite(x) & (np.abs(x) >= np.finfo(x.dtype).tiny),
        "subnormal": lambda x: (x != 0) & (np.abs(x) < np.finfo(x.dtype).tiny),
    }
    kind, flags = modifiers_of(i, FLOATS, " ".join(tests))
    return Op(tests[flags.pop()], (DTYPES[kind],), np.bool_)


COMPARE = {"setp": setp, "set": set_, "selp": selp, "slct": slct, "testp": testp}
