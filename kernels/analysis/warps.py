"""From the interpreter's (blocks, threads) arrays to warps of 32 lanes."""

from __future__ import annotations

import numpy as np

LANES = 32


def by_warp(access) -> tuple[np.ndarray, np.ndarray]:
    """The byte addresses of a `ptx.Access` and which lanes take part, both (B, warps, 32).

    Threads of a block are numbered x first and cut into warps of 32; the lanes that a last,
    short warp lacks take no part.
    """
    blocks, threads = len(access.blocks), access.threads
    warps = -(-threads // LANES)
    addresses = np.zeros((blocks, warps * LANES), np.int64)
    active = np.zeros((blocks, warps * LANES), bool)
    addresses[:, :threads] = access.address
    active[:, :threads] = True if access.mask is None else access.mask
    shape = (blocks, warps, LANES)
    return addresses.reshape(shape), active.reshape(shape)
