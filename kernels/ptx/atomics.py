"""What atom and red do to a memory cell: arithmetic, and the order of those who meet there.

PTX ISA, chapters 9.7.13.5 (atom) and 9.7.13.7 (red)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import half
from .floats import flush_subnormals, one_nan, payload
from .forms import Unsupported

HALVES = {"f16": 2, "bf16": 2, "f16x2": 4, "bf16x2": 4}  # bytes; read as bit patterns

ATOMICS = {
    "add": lambda old, x: old + x,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": lambda old, x: x,
    "cas": lambda old, compare, new: np.where(old == compare, new, old),
    "inc": lambda old, x: np.where(old >= x, old.dtype.type(0), old + old.dtype.type(1)),
    "dec": lambda old, x: np.where((old == 0) | (old > x), x, old - old.dtype.type(1)),
}


def operation(name: str, kind: str, lanes: int = 1) -> Callable[[str], Callable]:
    """For an operation on a type: name of the space -> function (old, operands) -> new."""
    if lanes > 1 and (name != "add" or kind not in (*HALVES, "f32")):
        raise Unsupported(f".{name}.{kind} on vectors")
    function = ATOMICS[name]
    if kind in HALVES:
        if name not in ("add", "min", "max"):
            raise Unsupported(f".{name}.{kind}")
        one = half.element(name, kind.removesuffix("x2"), set())
        return lambda space: one if kind in ("f16", "bf16") else half.by_halves(one)
    if kind[0] != "f" or name == "exch":
        return lambda space: function
    if name != "add":
        raise Unsupported(f".{name}.{kind}")
    in_global, elsewhere = {"f32": (add_flushing, add_float), "f64": (add_keeping, add_double)}[
        kind
    ]
    return lambda space: in_global if space == "global" else elsewhere


def add_float(old, x):
    return one_nan(old + x)


def add_flushing(old, x):
    """PTX ISA: in global memory, atomic addition of f32 takes subnormals for zeros."""
    return flush_subnormals(add_float(flush_subnormals(old), flush_subnormals(x)))


def add_double(old, x):
    return payload(old + x, old, x)


def add_keeping(old, x):
    """In global memory a NaN, the added one before the one that was there, keeps all its bits."""
    return np.where(np.isnan(x), x, np.where(np.isnan(old), old, payload(old + x)))


def take_turns(view, index, values, function):
    """Apply the function once per element, in order, to view[index]; returns what each saw.

    Each round serves the first waiting thread of every address, so that rounds are as many as
    the threads that meet at the busiest one."""
    old = np.empty(index.shape, view.dtype)
    waiting = np.arange(index.size)
    while waiting.size:
        _, first = np.unique(index[waiting], return_index=True)
        now = waiting[first]
        old[now] = view[index[now]]
        view[index[now]] = function(old[now], *(v[now] for v in values))
        waiting = np.delete(waiting, first)
    return old
