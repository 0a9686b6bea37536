"""The numbers that a step is called with: what float32 can hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

FLOAT32 = np.dtype(np.float32)
FLOAT32_MAX = float(np.finfo(np.float32).max)
FLOAT64_MAX = float(np.finfo(np.float64).max)
REAL: tuple[Any, ...] = (int, float, np.integer, np.floating)


def require_no_mask(name: str, value: Any) -> None:
    """Raise TypeError for one of `np.ma`, whose mask would be ignored."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, and steps know no masks: {name}.filled(0)")


def require_float32(name: str, x: Any) -> Any:
    """alpha or beta: a number as it is, or the one in an array of no dimensions. Raises TypeError
    for anything else, a truth value too, and ValueError for what float32 cannot hold."""
    if getattr(x, "shape", None) == () and not isinstance(x, np.generic):
        x = x.item()
    if not isinstance(x, REAL) or isinstance(x, bool):
        raise TypeError(f"{name} must be a number, not {type(x).__name__}")
    try:
        size = abs(float(x))  # x's own type may not hold the bound
    except OverflowError:  # an int beyond float64
        size = FLOAT64_MAX
    if FLOAT32_MAX < size < math.inf:
        raise ValueError(f"{name} = {x} is too large for float32")
    return x
