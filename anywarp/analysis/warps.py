"""From the interpreter's (blocks, threads) arrays to warps of 32 lanes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..ptx.warps.warp import LANES, in_warps

__all__ = ["LANES", "Active", "Ints", "Mask", "by_warp", "in_warps", "whole_mask"]

Active = ArrayLike | None  # which lanes take part: bools; None for all
Ints = np.ndarray  # of int64
Mask = np.ndarray  # of bool


def by_warp(address: Ints | int, mask: Mask | None, blocks: int, threads: int) -> tuple[Ints, Mask]:
    """Byte addresses and which lanes take part, both of shape (blocks, warps, 32).

    address, mask: as a `ptx.Access` has them, broadcasting to (blocks, threads); a mask of None
    means all. Threads of a block are numbered x first and cut into warps of 32; the lanes that a
    last, short warp lacks take no part.
    """
    everybody = np.ones((1, 1), bool)
    return (
        in_warps(np.asarray(address, np.int64), blocks, threads),
        in_warps(everybody if mask is None else mask, blocks, threads),
    )


def whole_mask(mask: Mask | None, shape: tuple[int, ...]) -> Mask:
    """A mask, which may be None for all or broadcast to it, in its full shape; read-only."""
    return np.broadcast_to(True if mask is None else mask, shape)
