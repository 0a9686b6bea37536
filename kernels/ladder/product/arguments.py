"""The matrices and scalars a step is called with: what no step, or not this one, can take."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from anywarp import gpu
from anywarp.arguments import require_no_mask
from anywarp.ptx.memory.allocations import offset

from .layout import extent, overlap

FLOAT32 = np.dtype(np.float32)
FLOAT32_MAX = float(np.finfo(np.float32).max)
FLOAT64_MAX = float(np.finfo(np.float64).max)
REAL: tuple[Any, ...] = (int, float, np.integer, np.floating)
MAX_ELEMENTS = 2**31  # the kernels index with 32-bit integers


def shape_of(A: Any, B: Any, C: Any, alpha: Any, beta: Any) -> tuple[int, int, int]:
    """M, N, K of the product; raises TypeError or ValueError for what no step can take."""
    _require_matrix("A", A)
    _require_matrix("B", B)
    if C is not None:
        _require_matrix("C", C)
    require_float32("alpha", alpha)
    require_float32("beta", beta)
    (M, K), (rows, N) = A.shape, B.shape
    if rows != K:
        raise ValueError(
            f"A is {M} x {K} and B is {rows} x {N}: A needs as many columns as B has rows"
        )
    if M * N >= MAX_ELEMENTS:
        raise ValueError(f"C would have {M * N} elements; steps index with 32 bits: below 2**31")
    if C is None:
        if beta != 0:
            raise ValueError(f"beta = {beta} scales C, so C must be given")
        return M, N, K
    if C.shape != (M, N):
        raise ValueError(f"C is {C.shape[0]} x {C.shape[1]}, but A B is {M} x {N}")
    if not getattr(C.flags, "writeable", True):  # CuPy arrays have no such flag
        raise ValueError("C is read-only, and the result goes there: pass C.copy()")
    for name, x in (("A", A), ("B", B)):
        if overlap(x, C):
            raise ValueError(f"C and {name} overlap in memory: pass a copy of one of them")
    return M, N, K


def alignment_of(A: Any, B: Any, C: Any = None) -> int:
    """The largest power of two, up to 256, that divides the addresses of the matrices on the GPU
    and, of slices, what lies from a stored row to the next.

    NumPy arrays may lie anywhere: they are copied, to the GPU and into the interpreter's memory
    alike, and the copies start on multiples of 256 bytes, as new matrices on the GPU do; but for
    those that say where they lie, see `memory.Lying`.
    """
    together = 256
    for x in (A, B) if C is None else (A, B, C):
        together |= _bits(x)
    return together & -together


def _bits(x: Any) -> int:
    """Those of the address and of the pitch in bytes."""
    address = offset(x) if isinstance(x, np.ndarray) else x.data.ptr
    whole = x.flags.c_contiguous or x.flags.f_contiguous
    return int(address if whole else address | max(x.strides))


def require_alignment(label: str, alignment: int, A: Any, B: Any, C: Any) -> None:
    """Raise ValueError for a matrix that is not on a multiple of `alignment` bytes, or for a slice
    whose rows are not."""
    if alignment_of(A, B, C) % alignment == 0:
        return
    for name, x in zip("ABC", (A, B, C)):
        if _bits(x) % alignment:
            on_host = isinstance(x, np.ndarray)
            rows = (offset(x) if on_host else x.data.ptr) % alignment == 0
            where = "has rows at addresses that are" if rows else "is at an address that is"
            raise ValueError(
                f"{name} {where} no multiple of {alignment} bytes (a slice?), which {label} needs: "
                f"pass a copy, {'np' if on_host else 'cupy'}.array({name})"
            )


def _require_matrix(name: str, x: Any) -> None:
    if not isinstance(x, np.ndarray) and not gpu.is_device_array(x):
        raise TypeError(
            f"{name} must be a NumPy or CuPy array, not {type(x).__name__}: "
            f"np.asarray({name}, dtype=np.float32)"
        )
    require_no_mask(name, x)
    if x.dtype is not FLOAT32 and x.dtype != FLOAT32:
        raise TypeError(f"{name} must be float32, not {x.dtype}: {name}.astype(np.float32)")
    if x.ndim != 2:
        raise ValueError(f"{name} must be a matrix, not of shape {x.shape}")
    if x.size >= MAX_ELEMENTS:
        raise ValueError(f"{name} has {x.size} elements; steps index with 32 bits: below 2**31")
    if not x.flags.c_contiguous and extent(x) >= MAX_ELEMENTS * x.itemsize:
        raise ValueError(
            f"{name} reaches over {extent(x) // x.itemsize} elements, with those between its rows; "
            "steps index with 32 bits: below 2**31"
        )


def require_float32(name: str, x: Any) -> None:
    if not isinstance(x, REAL):
        raise TypeError(f"{name} must be a number, not {type(x).__name__}")
    try:
        size = abs(float(x))  # x's own type may not hold the bound
    except OverflowError:  # an int beyond float64
        size = FLOAT64_MAX
    if FLOAT32_MAX < size < math.inf:
        raise ValueError(f"{name} = {x} is too large for float32")
