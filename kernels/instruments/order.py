"""Happens-before within a block: which accesses of other threads a thread can rely on.

Every access has a stamp, 1, 2, 3, … in the order of the run. An access races with an earlier one
of another thread if the two touch the same cell, one of them writes, and no chain of barriers,
or of fences with strong accesses (see `fences`), leads from the one to the other (L. Lamport,
Time, clocks, and the ordering of events in a distributed system, CACM 21(7), 1978).
"""

from __future__ import annotations

import numpy as np

from .shadow import LANES


class Order:
    """What the threads of a chunk of blocks know of each other's accesses.

    After a barrier of the whole block everybody knows all up to its stamp: `base` (B,). Only
    barriers of fewer threads, and fences, make the full table necessary: `known[b, t, u]` is the
    stamp up to which thread t knows what thread u did, int32 (B, T, T); the next barrier of all
    ends it.

    `fenced` holds such a table for each scope in which a fence has passed: the part of `known`
    that thread t may tell others by a strong write. `floor[scope]` (B, T) is what all threads of
    a block have of it since their last barrier."""

    def __init__(self, blocks: int, padded: int, stamp: int):
        self.base = np.full(blocks, stamp, np.int64)
        self.padded = padded
        self.known: np.ndarray | None = None
        self.fenced: dict[str, np.ndarray] = {}
        self.floor: dict[str, np.ndarray] = {}
        self.arrived: dict[tuple, np.ndarray] = {}  # (barrier, table's name) -> (B, T)

    def knows(self, block, thread, other):
        """The stamp up to which threads know others of their block; arrays of indices."""
        if self.known is None:
            return self.base[block]
        return self.known[block, thread, other]

    # -- barriers ---------------------------------------------------------------------------

    def all_wait(self, going, stamp: int) -> None:
        """A barrier of the whole block, in the blocks where `going` (B,) is true."""
        self.base[going] = stamp
        if self.known is not None:
            self.known[going] = stamp
            if going.all():
                self.known = None
        for scope, table in list(self.fenced.items()):
            self.floor[scope][going] = table[going].max(1)
            table[going] = self.floor[scope][going][:, None]
            if going.all():
                del self.fenced[scope]

    def some_wait(self, number: int, mask, stamp: int) -> None:
        """A barrier of the threads of the mask (B, T); those that arrived at it count."""
        done = mask.any(1)
        for name, table in self._tables(mask, stamp):
            news = told(table, mask)
            if (number, name) in self.arrived:
                arrived = self.arrived[number, name]
                news[done] = np.maximum(news[done], arrived[done])
                arrived[done] = 0
            np.copyto(table, news[:, None, :], where=mask[:, :, None])

    def arrive(self, number: int, mask, stamp: int) -> None:
        """bar.arrive: what these threads know now is what the barrier will tell of them."""
        for name, table in self._tables(mask, stamp):
            news = told(table, mask)
            self.arrived[number, name] = np.maximum(news, self.arrived.get((number, name), 0))

    def lanes_wait(self, members, mask, stamp: int) -> None:
        """Lanes of the mask have waited for those in their member masks, uint32 (B, T)."""
        shape = len(self.base), self.padded // LANES, LANES
        parts = [
            (mask & (members == member_mask)).reshape(*shape, 1)
            for member_mask in np.unique(members[mask])
        ]
        for _, table in self._tables(mask, stamp):
            by_warp = table.reshape(*shape, self.padded)
            for part in parts:
                news = np.max(by_warp, 2, keepdims=True, where=part, initial=0)
                np.copyto(by_warp, news, where=part)

    def _tables(self, mask, stamp: int):
        """(name, table) of all there are, once the threads of the mask know their own stamp."""
        self._spread_out()
        block, thread = np.nonzero(mask)
        self.known[block, thread, thread] = stamp
        return ("known", self.known), *((s, self._fenced(s)) for s in self.floor)

    def _spread_out(self) -> None:
        if self.known is None:
            shape = (len(self.base), self.padded, self.padded)
            self.known = np.broadcast_to(self.base.astype(np.int32)[:, None, None], shape).copy()

    # -- fences -----------------------------------------------------------------------------

    def fence(self, scope: str, block, thread, stamp: int) -> None:
        """Threads (arrays of indices) may tell in this scope all that they know now."""
        self._spread_out()
        self.known[block, thread, thread] = stamp
        self._fenced(scope)[block, thread] = self.known[block, thread]

    def tells(self, scope: str, block: int, thread: int):
        """What a thread may tell of its block: (T,), or None before any fence."""
        if scope not in self.floor:
            return None
        if scope in self.fenced:
            return self.fenced[scope][block, thread]
        return self.floor[scope][block]

    def learn(self, block: int, thread: int, row) -> None:
        """A thread learns of the others in its block what another told: (T,)."""
        self._spread_out()
        np.maximum(self.known[block, thread], row, out=self.known[block, thread])

    def _fenced(self, scope: str):
        if scope not in self.floor:
            self.floor[scope] = np.zeros((len(self.base), self.padded), np.int32)
        if scope not in self.fenced:
            shape = (len(self.base), self.padded, self.padded)
            self.fenced[scope] = np.broadcast_to(self.floor[scope][:, None], shape).copy()
        return self.fenced[scope]


def told(table, mask):
    """What the threads of the mask know together: (B, T)."""
    return np.max(table, 1, where=mask[:, :, None], initial=0)
