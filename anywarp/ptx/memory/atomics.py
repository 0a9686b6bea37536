"""What atom and red do to a memory cell: arithmetic, and the order of those who meet there.

PTX ISA, chapters 9.7.13.5 (atom) and 9.7.13.7 (red)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..aliases import Array, Elementwise
from ..arithmetic import half
from ..arithmetic.floats import flush_subnormals, one_nan, payload
from ..text.forms import DTYPES, refuse
from .allocations import UNSIGNED

HALVES = {"f16": 2, "bf16": 2, "f16x2": 4, "bf16x2": 4}  # bytes; read as bit patterns

ATOMICS: dict[str, Elementwise] = {
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


def operation(name: str, kind: str, lanes: int = 1) -> Callable[[str], Callable[..., Any]]:
    """For an operation on a type: name of the space -> function (old, operands) -> new."""
    refuse(lanes > 1 and kind not in (*HALVES, "f32"), f".{name}.{kind} on vectors")
    refuse(kind == "b128" and name not in ("cas", "exch"), f".{name}.{kind}")
    function = ATOMICS[name]
    if kind in HALVES:
        refuse(name not in ("add", "min", "max"), f".{name}.{kind}")
        single = half.element(name, kind.removesuffix("x2"), set())
        return lambda space: single if kind in ("f16", "bf16") else half.by_halves(single)
    if kind[0] != "f" or name == "exch":
        return lambda space: function
    refuse(name != "add", f".{name}.{kind}")
    ways = {"f32": (add_flushing, add_float), "f64": (add_keeping, add_double)}
    in_global, elsewhere = ways[kind]
    return lambda space: in_global if space == "global" else elsewhere


def combined(name: str, kind: str, space: str) -> tuple[Any, Callable[..., Any]]:
    """How a copy combines (cp.reduce.async.bulk): the type in which elements are read, and a
    function (old, operands) -> new. Checked on an H200: it does as the atomic does, but that it
    keeps the subnormals of f32 in global memory too."""
    function = operation(name, kind)("shared" if kind == "f32" else space)
    return np.uint16 if kind in HALVES else DTYPES[kind], function


def add_float(old: Array, x: Array) -> Any:
    """old + x of float32, with the GPU's NaN."""
    return one_nan(old + x)


def add_flushing(old: Array, x: Array) -> Any:
    """PTX ISA: in global memory, atomic addition of f32 takes subnormals for zeros."""
    return flush_subnormals(add_float(flush_subnormals(old), flush_subnormals(x)))


def add_double(old: Array, x: Array) -> Any:
    """old + x of float64, with the NaN of an operand."""
    return payload(old + x, old, x)


def add_keeping(old: Array, x: Array) -> Any:
    """In global memory a NaN, the added one before the one that was there, keeps all its bits."""
    return np.where(np.isnan(x), x, np.where(np.isnan(old), old, payload(old + x)))


# all values that a cell has in turn, given the first and the operands; NumPy's functions have that
SUMS = add_float, add_flushing, add_double, add_keeping
TOGETHER: dict[Any, Any] = dict.fromkeys(SUMS, np.add.accumulate)
TOGETHER[ATOMICS["exch"]] = lambda terms: terms
BUSY = 16  # who meet at an address, beyond which their turns are taken by one call of NumPy


def take_turns(view: Array, index: Array, values: Sequence[Array], operation: Any) -> Any:
    """Apply the operation once per element, in order, to view[index]; returns what each saw.

    Each round serves, at every address, the first waiting thread that changes what is there, and
    all before it: rounds are as many as the changes at the busiest address."""
    if operation is ATOMICS["add"] and view.dtype.kind in "iu" and index.size:
        return add_up(view, index, values[0])
    old = np.empty(index.shape, view.dtype)
    waiting = np.arange(index.size)
    together = TOGETHER.get(operation) or getattr(operation, "accumulate", None)
    if together and index.size > BUSY and view.dtype.kind in "iuf":
        waiting = serve_busy(view, index, values[0], old, together)
    bits = UNSIGNED[view.itemsize]
    while waiting.size:
        address = index[waiting]
        seen = view[address]
        new = operation(seen, *(v[waiting] for v in values)).astype(view.dtype, copy=False)
        changing = np.flatnonzero(new.view(bits) != seen.view(bits))
        if not changing.size:
            old[waiting] = seen
            break
        places, first = np.unique(address[changing], return_index=True)
        first = changing[first]
        at = np.minimum(np.searchsorted(places, address), places.size - 1)
        done = (places[at] != address) | (np.arange(waiting.size) <= first[at])
        old[waiting[done]] = seen[done]
        view[places] = new[first]
        waiting = waiting[~done]
    return old


def serve_busy(view: Array, index: Array, value: Array, old: Array, together: Any) -> Any:
    """The same at addresses where many meet. Returns who is left: the others, and all who meet
    where a NaN or a float below the normal ones takes part."""
    order, floats = np.argsort(index, kind="stable"), view.dtype.kind == "f"
    places, starts, counts = np.unique(index[order], return_index=True, return_counts=True)
    left = np.ones(index.size, bool)
    for n in np.flatnonzero(counts > BUSY):
        which = order[starts[n] : starts[n] + counts[n]]
        terms = np.append(view[places[n]], value[which])
        held = together(terms)
        both = np.abs(np.append(terms, held)) if floats else held
        if not floats or ((both == 0) | (both >= np.finfo(view.dtype).tiny)).all():
            old[which], view[places[n]], left[which] = held[:-1], held[-1], False
    return np.flatnonzero(left)


def add_up(view: Array, index: Array, value: Array) -> Any:
    """The same for sums of integers, of which the order does not matter but to what each sees."""
    order = np.argsort(index, kind="stable")
    address, term = index[order], value[order]
    after = np.cumsum(term, dtype=view.dtype)
    starts = np.flatnonzero(np.r_[True, address[1:] != address[:-1]])
    ends = np.r_[starts[1:], address.size] - 1
    earlier = np.r_[view.dtype.type(0), after[ends[:-1]]]  # sum of all addresses before
    count = (ends - starts + 1).astype(np.intp)
    old = np.empty(index.shape, view.dtype)
    old[order] = view[address] + (after - term - np.repeat(earlier, count))
    view[address[starts]] += after[ends] - earlier
    return old
