"""How matrices lie in memory, and what of them a kernel gets.

A kernel reads rows that are stored one after the other, so many elements from each to the next:
the pitch. What is stored are the rows of the matrix or, of a transposed operand, its columns.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

ITEM = 4  # bytes of a float32


def pitch_of(x: Any, transposed: bool = False) -> int | None:
    """Elements from the start of a stored row to that of the next, None if x is not stored so."""
    rows, columns = x.shape[::-1] if transposed else x.shape
    if x.flags.f_contiguous if transposed else x.flags.c_contiguous:
        return int(columns)
    apart, beside = x.strides[::-1] if transposed else x.strides
    if columns > 1 and beside != ITEM:
        return None
    if rows <= 1:
        return int(columns)
    return apart // ITEM if apart % ITEM == 0 and apart >= ITEM * columns else None


# Bit flags of how a matrix is stored; SLICE | TRANSPOSED is one, too. See `form_of`.
WHOLE, TRANSPOSED, SLICE, OTHER = 0, 1, 2, 4


def form_of(x: Any) -> int:
    """How a matrix is stored: row by row, WHOLE, or not. A SLICE has other elements between its
    rows, of which one TRANSPOSED stores the columns; OTHER can be read by no step."""
    if x.flags.c_contiguous:
        return WHOLE
    if x.flags.f_contiguous:
        return TRANSPOSED
    if pitch_of(x) is not None:
        return SLICE
    return OTHER if pitch_of(x, True) is None else SLICE | TRANSPOSED


def can_read(form: int, name: str, defines: Mapping[str, int], arguments: Collection[str]) -> bool:
    """Whether a step can be had that reads the matrix of this name if it is stored so."""
    return (
        form != OTHER
        and (not form & TRANSPOSED or f"TRANS_{name}" in defines)
        and (not form & SLICE or f"ld{name.lower()}" in arguments)
    )


def reads(name: str, x: Any, defines: Mapping[str, int], arguments: Collection[str]) -> int | None:
    """With which TRANS_A or TRANS_B a step reads the matrix of this name as it is stored: its own
    if it can be, 0 where it has none. None if it cannot be read so."""
    define, pitch = f"TRANS_{name}", f"ld{name.lower()}"
    own = defines.get(define, 0)
    for transposed in (own, 1 - own) if define in defines else (0,):
        elements = pitch_of(x, bool(transposed))
        columns = x.shape[0 if transposed else 1]
        if elements is not None and (pitch in arguments or elements == columns):
            return transposed
    return None


def memory_of(x: np.ndarray) -> np.ndarray:
    """What a kernel gets of a matrix: a C-contiguous array on the same memory, from the first
    element to the last, with what lies between stored rows."""
    if x.flags.c_contiguous:
        return x
    if x.flags.f_contiguous:
        return x.T
    assert form_of(x) != OTHER, "only such matrices come here"
    size, writeable = (extent(x) // ITEM,), x.flags.writeable
    return np.lib.stride_tricks.as_strided(x, size, (ITEM,), subok=True, writeable=writeable)


def to_read(x: np.ndarray, written: np.ndarray) -> np.ndarray:
    """`memory_of` a matrix that is read while `written` is stored to: an array that cannot be
    written, so that it may overlap others of its kind. A copy, if it lies between the rows of
    `written` or around them."""
    memory = memory_of(x).view()
    if np.may_share_memory(memory, written):
        memory = memory.copy()
    memory.flags.writeable = False
    return memory


def laid_out(
    A: np.ndarray, B: np.ndarray, defines: Mapping[str, int]
) -> tuple[np.ndarray, np.ndarray]:
    """A and B, stored as a step with these defines reads them."""
    if defines.get("TRANS_A"):
        A = np.ascontiguousarray(A.T).T
    if defines.get("TRANS_B"):
        B = np.ascontiguousarray(B.T).T
    return A, B


def overlap(x: Any, y: Any) -> bool:
    """Whether two matrices of one kind share an element."""
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        both = isinstance(x, np.ndarray) and isinstance(y, np.ndarray)
        return both and bool(np.may_share_memory(x, y) and np.shares_memory(x, y))
    (first, end), (second, last) = _bounds(x), _bounds(y)
    if 0 in (x.size, y.size) or first >= last or second >= end:
        return False
    (pitch, columns), (other, others) = _stored(x), _stored(y)
    if pitch is None or pitch != other:
        return True
    apart = (second - first) // ITEM % pitch  # columns between the two, in rows of one pitch
    return apart < columns or apart + others > pitch


def require_room(written: Mapping[str, Any], read: Mapping[str, Any]) -> None:
    """Raise ValueError unless the arrays that are written may be, and share no element with one
    another or with those that are read. Both have the arrays by their names."""
    before = dict(read)
    for name, x in written.items():
        if not getattr(x.flags, "writeable", True):  # CuPy arrays have no such flag
            raise ValueError(f"{name} is read-only, and the result goes there: pass {name}.copy()")
        for other, y in before.items():
            if overlap(x, y):
                raise ValueError(
                    f"{name} and {other} overlap in memory: pass a copy of one of them"
                )
        before[name] = x


def _stored(x: Any) -> tuple[int | None, int]:
    """The pitch, and the elements of a stored row."""
    pitch = pitch_of(x)
    return (pitch_of(x, True), x.shape[0]) if pitch is None else (pitch, x.shape[1])


def extent(x: Any) -> int:
    """Bytes from the first element to the last."""
    if x.flags.c_contiguous or x.flags.f_contiguous:
        return int(x.nbytes)
    between = sum((side - 1) * abs(stride) for side, stride in zip(x.shape, x.strides))
    return int(between) + ITEM


def _bounds(x: Any) -> tuple[int, int]:
    """The addresses of the first byte and of the one after the last, on the GPU."""
    before = sum((side - 1) * min(int(stride), 0) for side, stride in zip(x.shape, x.strides))
    first = int(x.data.ptr) + before
    return first, first + extent(x)


def require_own_elements(C: Any) -> None:
    """Raise ValueError for a matrix of which two elements may be one place in memory."""
    least = ITEM
    for stride, side in sorted((abs(n), side) for n, side in zip(C.strides, C.shape) if side > 1):
        if stride < least:
            raise ValueError("elements of C share memory, and each has a result: pass C.copy()")
        least = stride * side


def poisoned(size: int) -> np.ndarray:
    """A workspace of so many bytes, full of 1.3e36. That is finite, since a step may compute again
    what is not, and would so hide that it reads what it has not written."""
    return np.full(-(-size // ITEM) * ITEM, 0x7B, np.uint8).view(np.float32)
