"""Functions of mathematics that are called: NVRTC has each as instructions, clang as a name alone.

They are NumPy's or the C library's, of double precision, then rounded: of a float's functions most
results are the nearest float. `compile/for_clang/prelude.h` declares `__anywarp_sinf` and the like.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..aliases import Array, Mask, Reader, Readers, State
from ..text.syntax import Instruction


def argument(state: State, address_of: Reader, size: int) -> Any:
    """The value of an argument for every thread, (B, T) unsigned."""
    address = np.broadcast_to(address_of(state.registers), state.shape)
    (value,) = state.spaces["arguments"].load(address, None, size, 1)
    return np.broadcast_to(value, state.shape)


def give(state: State, address_of: Reader, values: Array, mask: Mask) -> None:
    """Store results of a call for the threads of the mask."""
    size = values.dtype.itemsize
    state.spaces["arguments"].store(address_of(state.registers), mask, [values], size)


def computed(function: Callable[..., Any], dtype: type) -> Callable[..., None]:
    """The function of the library that computes this one of arguments of a dtype."""
    size = np.dtype(dtype).itemsize

    def act(i: Instruction, state: State, mask: Mask, sources: Readers, returned: Readers) -> None:
        given: list[Array] = [
            np.ascontiguousarray(argument(state, s, size)).view(dtype) for s in sources
        ]
        with np.errstate(all="ignore"):
            wide = function is not np.nextafter
            value = function(*(x.astype(np.float64) if wide else x for x in given))
            give(state, returned[0], value.astype(dtype).view(f"u{size}"), mask)

    return act


def whole(x: Array) -> Array:
    """The nearest whole numbers, halves away from zero."""
    half = np.nextafter(0.5, 0)  # with 0.5, what is just below it would be 1
    return np.copysign(np.floor(np.abs(x) + half), x)


def each(function: Callable[..., float], pole: float = math.nan) -> Callable[..., Any]:
    """A function of the C library's, element by element, with a value where Python raises."""

    def one(x: float, *more: float) -> float:
        try:
            return function(x, *more)
        except OverflowError:
            return math.inf
        except ValueError:
            return pole if x or more else math.copysign(math.inf, x)

    return np.vectorize(one, [np.float64])


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in (
        *("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1"),
        *("log", "log2", "log10", "log1p", "cbrt", "hypot", "fmod", "nextafter"),
    )},
    **{f"a{name}": getattr(np, f"arc{name}") for name in (
        "sin", "cos", "tan", "sinh", "cosh", "tanh", "tan2"
    )},
    **{name: each(getattr(math, name)) for name in ("erf", "erfc", "remainder")},
    "lgamma": each(math.lgamma, math.inf),
    "tgamma": each(math.gamma),
    "pow": np.power,
    "ldexp": lambda x, n: np.ldexp(x, n.astype(int)),
    "rcbrt": lambda x: 1 / np.cbrt(x),
    "sinpi": lambda x: np.sin(np.pi * (x % 2)),
    "cospi": lambda x: np.cos(np.pi * (x % 2)),
    "exp10": lambda x: np.power(10.0, x),
    "round": whole,
}  # fmt: skip
MATHEMATICS = {
    f"__anywarp_{name}{suffix}": computed(function, dtype)
    for name, function in FUNCTIONS.items()
    for suffix, dtype in (("f", np.float32), ("", np.float64))
}
