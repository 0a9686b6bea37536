"""From the interpreter's (blocks, threads) arrays to warps of 32 lanes."""

from __future__ import annotations

import numpy as np

LANES = 32


def by_warp(address, mask, blocks: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Byte addresses and which lanes take part, both of shape (blocks, warps, 32).

    address, mask: as a `ptx.Access` has them, broadcasting to (blocks, threads); a mask of None
    means all. Threads of a block are numbered x first and cut into warps of 32; the lanes that a
    last, short warp lacks take no part.
    """
    warps = -(-threads // LANES)
    addresses = np.zeros((blocks, warps * LANES), np.int64)
    active = np.zeros((blocks, warps * LANES), bool)
    addresses[:, :threads] = address
    active[:, :threads] = True if mask is None else mask
    shape = (blocks, warps, LANES)
    return addresses.reshape(shape), active.reshape(shape)
