"""Products of numbers in three BF16 parts, in NumPy: what steps 21 and 23 have in common."""

import numpy as np

from anywarp.ptx.arithmetic.floats import fma32

PAIRS = [(0, 2), (1, 1), (2, 0), (0, 1), (1, 0), (0, 0)]  # parts of A and of B, in order


def parts(x):
    """Three numbers of eight bits, each the nearest to what is left, a tie to the even one."""
    found = []
    for _ in range(3):
        bits = x.view(np.uint32)
        near = (bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000).astype(np.uint32)
        found.append(near.view(np.float32))
        x = x - found[-1]
    assert not x.any()
    return found


def by_fmas(A, B):
    total = np.zeros((A.shape[0], B.shape[1]), np.float32)
    with np.errstate(all="ignore"):
        for k in range(A.shape[1]):
            total = fma32(A[:, k, None], B[None, k], total)
    return total


def same(C, expected):
    """Bit by bit, but for NaN, which has many."""
    numbers = ~np.isnan(expected)
    assert np.array_equal(np.isnan(C), ~numbers)
    return np.array_equal(C[numbers].view("u4"), expected[numbers].view("u4"))
