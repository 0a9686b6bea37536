"""Happens-before within a block: which accesses of other threads a thread can rely on.

Every access has a stamp, 1, 2, 3, … in the order of the run. An access races with an earlier one
of another thread if the two touch the same cell, one of them writes, and no chain of barriers,
or of fences with strong accesses (see `fences`), leads from the one to the other (L. Lamport,
Time, clocks, and the ordering of events in a distributed system, CACM 21(7), 1978).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..analysis.warps import LANES, Ints, Mask


class Order:
    """What the threads of a chunk of blocks know of each other's accesses.

    After a barrier of the whole block everybody knows all up to its stamp: `base` (B,). Only
    barriers of fewer threads, and fences, make the full table necessary: `known[b, t, u]` is the
    stamp up to which thread t knows what thread u did, int32 (B, T, T); the next barrier of all
    ends it.

    `fenced` holds such a table for each scope in which a fence has passed: the part of `known`
    that thread t may tell others by a strong write. `floor[scope]` (B, T) is what all threads of
    a block have of it since their last barrier.

    What runs on its own, as copies do, takes part like threads, in `columns` after theirs: a
    thread knows of it what it, or who told it, has waited for. A barrier of the block passes that
    on; it does not wait for it. `landed` (B, columns) is what all threads of a block know of it
    while there is no full table."""

    def __init__(self, blocks: int, padded: int, stamp: int, columns: int = 0) -> None:
        self.base = np.full(blocks, stamp, np.int64)
        self.landed = np.zeros((blocks, columns), np.int32)
        self.padded = padded
        self.known: Any = None
        self.fenced: dict[str, np.ndarray] = {}
        self.floor: dict[str, np.ndarray] = {}
        self.arrived: dict[tuple[int, str], np.ndarray] = {}  # (barrier, table's name) -> (B, T)
        self.objects: dict[str, np.ndarray] = {}  # table's name -> see `release`

    def knows(self, block: Ints, thread: Ints, other: Ints) -> Any:
        """The stamp up to which threads know others of their block; arrays of indices."""
        if self.known is None:
            return self.base[block]
        return self.known[block, thread, other]

    def knows_landed(self, block: Ints, thread: Ints, column: Ints) -> Any:
        """The same of what runs on its own."""
        if self.known is None:
            return self.landed[block, column]
        return self.known[block, thread, self.padded + column]

    # -- barriers ---------------------------------------------------------------------------

    def all_wait(self, going: Mask, stamp: int) -> None:
        """A barrier of the whole block, in the blocks where `going` (B,) is true."""
        self.base[going] = stamp
        if self.known is not None:
            self.landed[going] = self.known[going, :, self.padded :].max(1)
            self.known[going, :, : self.padded] = stamp
            self.known[going, :, self.padded :] = self.landed[going, None]
            if going.all():
                self.known = None
        for scope, table in list(self.fenced.items()):
            self.floor[scope][going] = table[going].max(1)
            table[going] = self.floor[scope][going][:, None]
            if going.all():
                del self.fenced[scope]

    def some_wait(self, number: int, mask: Mask, stamp: int) -> None:
        """A barrier of the threads of the mask (B, T); those that arrived at it count."""
        done = mask.any(1)
        for name, table in self.tables(mask, stamp):
            news = told(table, mask)
            if (number, name) in self.arrived:
                arrived = self.arrived[number, name]
                news[done] = np.maximum(news[done], arrived[done])
                arrived[done] = 0
            np.copyto(table, news[:, None, :], where=mask[:, :, None])

    def arrive(self, number: int, mask: Mask, stamp: int) -> None:
        """bar.arrive: what these threads know now is what the barrier will tell of them."""
        for name, table in self.tables(mask, stamp):
            news = told(table, mask)
            self.arrived[number, name] = np.maximum(news, self.arrived.get((number, name), 0))

    def lanes_wait(self, members: Ints, mask: Mask, stamp: int) -> None:
        """Lanes of the mask have waited for those in their member masks, uint32 (B, T)."""
        shape = len(self.base), self.padded // LANES, LANES
        parts = [
            (mask & (members == member_mask)).reshape(*shape, 1)
            for member_mask in np.unique(members[mask])
        ]
        for _, table in self.tables(mask, stamp):
            by_warp = table.reshape(*shape, table.shape[-1])
            for part in parts:
                news = np.max(by_warp, 2, keepdims=True, where=part, initial=0)
                np.copyto(by_warp, news, where=part)

    def tables(self, mask: Mask, stamp: int) -> Iterable[tuple[str, np.ndarray]]:
        """(name, table) of all there are, once the threads of the mask know their own stamp."""
        self._spread_out()
        block, thread = np.nonzero(mask)
        self.known[block, thread, thread] = stamp
        return self.all_tables()

    def all_tables(self) -> Iterable[tuple[str, np.ndarray]]:
        """Every table that there is, by name."""
        self._spread_out()
        return ("known", self.known), *((s, self._fenced(s)) for s in self.floor)

    def _spread_out(self) -> None:
        if self.known is None:
            row = np.repeat(self.base.astype(np.int32)[:, None], self.padded, 1)
            row = np.concatenate([row, self.landed], 1)
            self.known = np.repeat(row[:, None], self.padded, 1)

    def row_of(self, block: int, thread: int, stamp: int) -> Any:
        """All that a thread knows, and what it did until now."""
        self._spread_out()
        row = self.known[block, thread].copy()
        row[thread] = stamp
        return row

    # -- barriers in memory -------------------------------------------------------------------

    def release(self, row: Ints, slot: Ints, block: Ints, thread: Ints, stamp: int) -> None:
        """Threads arrive at objects: what they know now is told to who waits for the phase.

        `objects[table]` (B, slots, 2, columns) has, for each, what was told in all phases, and in
        those that are over."""
        key, first, which = np.unique(
            row.astype(np.int64) << 32 | slot, return_index=True, return_inverse=True
        )
        turns = np.argsort(which, kind="stable")
        starts = np.searchsorted(which[turns], np.arange(len(key)))
        row, slot = row[first], slot[first]
        self._spread_out()
        self.known[block, thread, thread] = stamp
        for name, table in self.all_tables():
            told = self._object(name, slot.max())
            news = np.maximum.reduceat(table[block[turns], thread[turns]], starts, axis=0)
            told[row, slot, 0] = np.maximum(told[row, slot, 0], news)

    def report(self, row: Ints, slot: Ints, column: Ints | int, stamp: int) -> None:
        """What runs on its own reports to objects: it is done up to that stamp."""
        self._object("known", slot.max())[row, slot, 0, self.padded + column] = stamp

    def end_phase(self, row: Ints, slot: Ints) -> None:
        """Phases of objects are over."""
        for told in self.objects.values():
            if slot.max() < told.shape[1]:
                told[row, slot, 1] = told[row, slot, 0]

    def acquire(self, row: Ints, slot: Ints, block: Ints, thread: Ints) -> None:
        """Threads have found a phase over."""
        self._spread_out()
        for name, table in self.all_tables():
            told = self._object(name, slot.max())[row, slot, 1]
            table[block, thread] = np.maximum(table[block, thread], told)

    def _object(self, name: str, slot: int) -> Any:
        told = self.objects.get(name)
        if told is None or told.shape[1] <= slot:
            shape = len(self.base), slot + 8, 2, self.padded + self.landed.shape[1]
            more = self.objects[name] = np.zeros(shape, np.int32)
            if told is not None:
                more[:, : told.shape[1]] = told
        return self.objects[name]

    # -- fences -----------------------------------------------------------------------------

    def fence(self, scope: str, block: Ints, thread: Ints, stamp: int) -> None:
        """Threads (arrays of indices) may tell in this scope all that they know now."""
        self._spread_out()
        self.known[block, thread, thread] = stamp
        self._fenced(scope)[block, thread] = self.known[block, thread]

    def fence_own(self, scope: str, block: Ints, thread: Ints, stamp: int) -> None:
        """The same of what these threads did themselves, and of nothing else that they know."""
        self._fenced(scope)[block, thread, thread] = stamp

    def knows_fenced(self, scope: str, block: Ints, thread: Ints, other: Ints) -> Any:
        """The stamp up to which threads know that others have fenced what they did."""
        if scope in self.fenced:
            return self.fenced[scope][block, thread, other]
        if scope in self.floor:
            return self.floor[scope][block, other]
        return np.zeros(block.shape, np.int64)

    def tells(self, scope: str, block: int, thread: int) -> Any:
        """What a thread may tell of its block: (T,), or None before any fence."""
        if scope not in self.floor:
            return None
        if scope in self.fenced:
            return self.fenced[scope][block, thread]
        return self.floor[scope][block]

    def learn(self, block: Any, thread: Any, of: Any, stamp: Any) -> None:
        """Threads learn of others, or of what runs on its own, up to a stamp; indices."""
        self._spread_out()
        known = self.known[block, thread, of]
        self.known[block, thread, of] = np.maximum(known, stamp)

    def _fenced(self, scope: str) -> Any:
        if scope not in self.floor:
            width = self.padded + self.landed.shape[1]
            self.floor[scope] = np.zeros((len(self.base), width), np.int32)
        if scope not in self.fenced:
            self.fenced[scope] = np.repeat(self.floor[scope][:, None], self.padded, 1)
        return self.fenced[scope]


def told(table: Ints, mask: Mask) -> Any:
    """What the threads of the mask know together: (B, T)."""
    return np.max(table, 1, where=mask[:, :, None], initial=0)
