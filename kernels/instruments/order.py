"""Happens-before: which accesses of other threads a thread can rely on.

Every access has a stamp, 1, 2, 3, … in the order of the run. An access races with an earlier one
of another thread if the two touch the same cell, one of them writes, and no chain of barriers
leads from the one to the other (L. Lamport, Time, clocks, and the ordering of events in a
distributed system, CACM 21(7), 1978).
"""

from __future__ import annotations

import numpy as np

from .shadow import LANES


class Order:
    """What the threads of a chunk of blocks know of each other's accesses.

    After a barrier of the whole block everybody knows all up to its stamp: `base` (B,). Only
    barriers of fewer threads make the full table necessary: `known[b, t, u]` is the stamp up to
    which thread t knows what thread u did, int32 (B, T, T); the next barrier of all ends it."""

    def __init__(self, blocks: int, padded: int, stamp: int):
        self.base = np.full(blocks, stamp, np.int64)
        self.padded = padded
        self.known: np.ndarray | None = None
        self.arrived: dict[int, np.ndarray] = {}

    def knows(self, block, thread, other):
        """The stamp up to which threads know others of their block; arrays of indices."""
        if self.known is None:
            return self.base[block]
        return self.known[block, thread, other]

    def all_wait(self, going, stamp: int) -> None:
        """A barrier of the whole block, in the blocks where `going` (B,) is true."""
        self.base[going] = stamp
        if self.known is not None:
            self.known[going] = stamp
            if going.all():
                self.known = None

    def some_wait(self, number: int, mask, stamp: int) -> None:
        """A barrier of the threads of the mask (B, T); those that arrived at it count."""
        news = self._told(mask, stamp)
        if number in self.arrived:
            done = mask.any(1)
            arrived = self.arrived[number]
            news[done] = np.maximum(news[done], arrived[done])
            arrived[done] = 0
        self.known = np.where(mask[:, :, None], news[:, None, :], self.known)

    def arrive(self, number: int, mask, stamp: int) -> None:
        """bar.arrive: what these threads know now is what the barrier will tell of them."""
        news = self._told(mask, stamp)
        self.arrived[number] = np.maximum(news, self.arrived.get(number, 0))

    def lanes_wait(self, members, mask, stamp: int) -> None:
        """Lanes of the mask have waited for those in their member masks, uint32 (B, T)."""
        self._spread_out()
        blocks = len(self.base)
        warps = self.padded // LANES
        for member_mask in np.unique(members[mask]):
            part = (mask & (members == member_mask)).reshape(blocks, warps, LANES, 1)
            known = self.known.reshape(blocks, warps, LANES, self.padded)
            news = np.where(part, known, 0).max(2)
            b, w, lane, _ = np.nonzero(part)
            news[b, w, w * LANES + lane] = stamp
            self.known = np.where(part, news[:, :, None], known).reshape(self.known.shape)

    def _told(self, mask, stamp: int):
        """What the threads of the mask know together, (B, T)."""
        self._spread_out()
        news = np.where(mask[:, :, None], self.known, 0).max(1)
        return np.where(mask, np.int32(stamp), news)

    def _spread_out(self) -> None:
        if self.known is None:
            shape = (len(self.base), self.padded, self.padded)
            self.known = np.broadcast_to(self.base.astype(np.int32)[:, None, None], shape).copy()


class Fences:
    """Which blocks know of each other through strong accesses to one place in global memory, in
    a kernel with fences. Generous: it asks neither which thread passed a fence nor when."""

    def __init__(self, launched):
        self.blocks = int(np.prod(launched.grid))
        self.told: dict[int, np.ndarray] = {}  # cell -> stamps by block
        self.knowledge: dict[int, np.ndarray] = {}  # block -> stamps by block

    def known(self, block, other):
        """Up to which stamp the blocks know the others."""
        result = np.zeros(block.shape, np.int64)
        for b in np.unique(block):
            if int(b) in self.knowledge:
                mine = block == b
                result[mine] = self.knowledge[int(b)][other[mine]]
        return result

    def meet(self, event, lanes, blocks, stamp: int) -> None:
        """Blocks access a place: they learn what was told there, and tell what they know."""
        pairs = np.unique(np.stack([blocks[lanes.block], lanes.cell], 1), axis=0)
        nothing = np.zeros(self.blocks, np.int64)
        for block, cell in pairs.tolist():
            mine = self.knowledge.setdefault(block, nothing.copy())
            if event.kind != "store" and cell in self.told:
                np.maximum(mine, self.told[cell], out=mine)
            if event.kind != "load":
                mine[block] = stamp
                told = self.told.setdefault(cell, nothing.copy())
                np.maximum(told, mine, out=told)
