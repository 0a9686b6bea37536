"""Random matrices of which every rank can make its own part, where it is needed.

An element is a function of its place alone, uniform in [-1, 1), so that the parts on several GPUs
are those of one matrix that is nowhere as a whole.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from kernels.parallel.schedule import Block

SEEDS = {"A": 1, "B": 2}


def elements(matrix: str, rows: Any, columns: Any, whole: int) -> Any:
    """float32 elements of A or B, which has `whole` columns, at these rows and columns: uint32
    arrays of NumPy or of CuPy, which give the same bits.

    The place is stirred by the finaliser of MurmurHash3, and gives 24 bits.
    """
    x = rows[:, None] * np.uint32(whole) + columns
    x ^= np.uint32(SEEDS[matrix] * 0x9E3779B9 % 2**32)
    x ^= x >> 16
    x *= np.uint32(0x85EBCA6B)
    x ^= x >> 13
    x *= np.uint32(0xC2B2AE35)
    x ^= x >> 16
    x >>= 8
    uniform = x.astype(np.float32)
    uniform *= np.float32(2.0**-23)
    uniform -= np.float32(1)
    return uniform


def part(block: Block, whole: int, library: ModuleType = np) -> Any:
    """The block of A or B, of a matrix with `whole` columns, as an array of NumPy or CuPy."""
    rows, columns = (library.arange(*edges, dtype=np.uint32) for edges in block[1:])
    return elements(block.matrix, rows, columns, whole)


def on_gpu(block: Block, whole: int) -> Any:
    """The block on the current GPU."""
    import cupy

    return part(block, whole, cupy)


def whole(matrix: str, rows: int, columns: int) -> Any:
    """All of A or B, on the current GPU."""
    return on_gpu(Block(matrix, (0, rows), (0, columns)), columns)
