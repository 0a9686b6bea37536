"""Random matrices of which every rank can make its own part, where it is needed.

An element is a function of its place alone, uniform in [-1, 1), so that the parts on several GPUs
are those of one matrix that is nowhere as a whole.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from anywarp import gpu
from anywarp.kernel import Kernel

from .schedule import Block

SEEDS = {"A": 1, "B": 2}

SOURCE = """
// The place of an element, stirred (the finaliser of MurmurHash3), gives 24 bits.
extern "C" __global__ void uniform(int rows, int columns, int top, int left, int whole,
                                   unsigned seed, float* out)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y;
    if (column >= columns)
        return;
    unsigned x = unsigned(top + row) * unsigned(whole) + unsigned(left + column);
    x ^= seed * 0x9E3779B9u;
    x = (x ^ (x >> 16)) * 0x85EBCA6Bu;
    x = (x ^ (x >> 13)) * 0xC2B2AE35u;
    x ^= x >> 16;
    out[size_t(row) * columns + column] = int(x >> 8) * 0x1p-23f - 1.0f;
}
"""
THREADS = 256


@functools.cache
def _kernel() -> Kernel:
    return Kernel(SOURCE, "uniform", filename="uniform.cu")


def on_gpu(block: Block, whole: int) -> Any:
    """The block of A or B, of a matrix with `whole` columns, on the current GPU."""
    (rows, columns), (top, left) = block.shape, (block.rows[0], block.columns[0])
    out = gpu.empty((rows, columns))
    grid = -(-columns // THREADS), rows
    args = (rows, columns, top, left, whole, SEEDS[block.matrix], out)
    if out.size:
        _kernel()(grid, THREADS, args, "gpu")
    return out


def whole(matrix: str, rows: int, columns: int) -> Any:
    """All of A or B, on the current GPU."""
    return on_gpu(Block(matrix, (0, rows), (0, columns)), columns)


def elements(matrix: str, rows: np.ndarray, columns: np.ndarray, whole: int) -> np.ndarray:
    """The elements at these rows and columns, by NumPy: bit for bit those of the GPU."""
    place = np.asarray(rows, np.uint64)[:, None] * np.uint64(whole)
    x: Any = (place + np.asarray(columns, np.uint64)).astype(np.uint32)
    x ^= np.uint32(SEEDS[matrix] * 0x9E3779B9 % 2**32)
    x = (x ^ (x >> 16)) * np.uint32(0x85EBCA6B)
    x = (x ^ (x >> 13)) * np.uint32(0xC2B2AE35)
    x ^= x >> 16
    return ((x >> 8).astype(np.float32) * np.float32(2.0**-23) - np.float32(1)).astype(np.float32)
