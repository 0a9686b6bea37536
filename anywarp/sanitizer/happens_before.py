"""Happens-before within a block: which accesses of other threads a thread can rely on.

Every access has a stamp, 1, 2, 3, … in the order of the run. An access races with an earlier one
of another thread if the two touch the same cell, one of them writes, and no chain of barriers,
or of fences with strong accesses (see `fences`), leads from the one to the other (L. Lamport,
Time, clocks, and the ordering of events in a distributed system, CACM 21(7), 1978).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..analysis.warps import LANES, Ints, Mask


class Order:
    """What the threads of a chunk of blocks know of each other's accesses.

    After a barrier of the whole block everybody knows all up to its stamp: `base` (B,). Only
    barriers of fewer threads, and fences, make more necessary: for each thread a row, the stamps
    up to which it knows what each thread of its block did. Threads that know the same share one,
    and none is ever changed: `rows[index["known"][b, t]]`, int32 (columns,). The next barrier of
    all ends it.

    `index[scope]` has such rows for each scope in which a fence has passed, the part of what
    thread t knows that it may tell others by a strong write; and `own[scope]` (B, T) what it may
    tell of itself.

    What runs on its own, as copies do, takes part like threads, in columns after theirs: a
    thread knows of it what it, or who told it, has waited for. A barrier of the block passes that
    on; it does not wait for it. `landed` (B, columns) is what all threads of a block know of it
    while there are no rows."""

    def __init__(self, blocks: int, padded: int, stamp: int, columns: int = 0) -> None:
        self.base = np.full(blocks, stamp, np.int64)
        self.landed = np.zeros((blocks, columns), np.int32)
        self.padded = padded
        self.rows = np.zeros((0, padded + columns), np.int32)
        self.count = 0  # of rows; then comes room for more
        self.index: dict[str, np.ndarray] = {}
        self.own: dict[str, np.ndarray] = {}
        self.arrived: dict[tuple[int, str], np.ndarray] = {}  # (barrier, table's name) -> (B, …)
        self.objects: dict[str, np.ndarray] = {}  # table's name -> see `release`

    def knows(self, block: Ints, thread: Ints, other: Ints) -> Any:
        """The stamp up to which threads know others of their block; arrays of indices."""
        if "known" not in self.index:
            return self.base[block]
        return self.rows[self.index["known"][block, thread], other]

    def knows_landed(self, block: Ints, thread: Ints, column: Ints) -> Any:
        """The same of what runs on its own."""
        if "known" not in self.index:
            return self.landed[block, column]
        return self.rows[self.index["known"][block, thread], self.padded + column]

    def learn(self, name: str, block: Ints, thread: Ints, news: Ints, which: Ints) -> None:
        """In a table, threads learn one of these rows each."""
        self._spread_out()
        row = self.index[name][block, thread]
        first, group = numbered(row * len(news) + which)
        self._put(name, block, thread, np.maximum(self.rows[row[first]], news[which[first]]), group)

    def told(
        self, block: Ints, thread: Ints, group: Ints, stamp: int
    ) -> Iterator[tuple[str, np.ndarray]]:
        """(name of a table, what each group knows together), once its threads know their stamp."""
        self._spread_out()
        for name in self.index:
            yield name, self._together(name, block, thread, group, stamp)

    # -- rows -------------------------------------------------------------------------------

    def _together(self, name: str, block: Ints, thread: Ints, group: Ints, stamp: int) -> Any:
        row = self.index[name][block, thread]
        first, _ = numbered(group * self.count + row)
        together, starts = self.rows[row[first]], np.flatnonzero(changes(group[first]))
        if len(starts) < len(together):  # some have several rows
            together = np.maximum.reduceat(together, starts)
        own = stamp if name == "known" else self.own[name][block, thread]
        together[group, thread] = np.maximum(together[group, thread], own)
        return together

    def _put(self, name: str, block: Ints, thread: Ints, rows: Ints, which: Ints) -> None:
        """In a table, threads now have one of these rows each."""
        self.index[name][block, thread] = self._add(rows) + which

    def _add(self, rows: Ints) -> int:
        """The number of the first of these new rows."""
        first = self.count
        if first + len(rows) > len(self.rows):  # keep those that somebody has
            used = np.zeros(first, bool)
            for index in self.index.values():
                used[index] = True
            kept, number = self.rows[:first][used], np.cumsum(used) - 1
            for index in self.index.values():
                index[:] = number[index]
            first = len(kept)
            room = 2 * (first + len(rows)) + 8 * len(self.base)
            self.rows = np.zeros((room, kept.shape[1]), np.int32)
            self.rows[:first] = kept
        self.count = first + len(rows)
        self.rows[first : self.count] = rows
        return first

    def _table(self, name: str, rows: Ints) -> None:
        """A table in which all threads of a block have the same row: (B, columns)."""
        row = self._add(rows) + np.arange(len(rows))
        self.index[name] = np.repeat(row[:, None], self.padded, 1)

    def _spread_out(self) -> None:
        if "known" not in self.index:
            base = np.repeat(self.base.astype(np.int32)[:, None], self.padded, 1)
            self._table("known", np.concatenate([base, self.landed], 1))

    def _fenced(self, scope: str) -> tuple[np.ndarray, np.ndarray]:
        if scope not in self.index:
            self._table(scope, np.zeros((len(self.base), self.rows.shape[1]), np.int32))
            self.own[scope] = np.zeros((len(self.base), self.padded), np.int32)
        return self.index[scope], self.own[scope]

    # -- barriers ---------------------------------------------------------------------------

    def all_wait(self, going: Mask, stamp: int) -> None:
        """A barrier of the whole block, in the blocks where `going` (B,) is true."""
        self.base[going] = stamp
        if not self.index:
            return
        block, thread = np.nonzero(np.repeat(going[:, None], self.padded, 1))
        group = (np.cumsum(going) - 1)[block]
        for name in self.index:
            rows = self._together(name, block, thread, group, stamp)
            if name == "known":
                rows[:, : self.padded] = stamp
                self.landed[going] = rows[:, self.padded :]
            self._put(name, block, thread, rows, group)
        if going.all():
            self.index.pop("known", None)

    def some_wait(self, number: int, mask: Mask, stamp: int) -> None:
        """A barrier of the threads of the mask (B, T); those that arrived at it count."""
        block, thread = np.nonzero(mask)
        blocks, group = np.unique(block, return_inverse=True)
        for name, rows in self.told(block, thread, group, stamp):
            if (number, name) in self.arrived:
                arrived = self.arrived[number, name]
                rows = np.maximum(rows, arrived[blocks])
                arrived[blocks] = 0
            self._put(name, block, thread, rows, group)

    def arrive(self, number: int, mask: Mask, stamp: int) -> None:
        """bar.arrive: what these threads know now is what the barrier will tell of them."""
        block, thread = np.nonzero(mask)
        blocks, group = np.unique(block, return_inverse=True)
        for name, rows in self.told(block, thread, group, stamp):
            empty = np.zeros((len(self.base), rows.shape[1]), np.int32)
            arrived = self.arrived.setdefault((number, name), empty)
            arrived[blocks] = np.maximum(arrived[blocks], rows)

    def lanes_wait(self, members: Ints, mask: Mask, stamp: int) -> None:
        """Lanes of the mask have waited for those in their member masks, uint32 (B, T)."""
        block, thread = np.nonzero(mask)
        warp = (block * self.padded + thread) // LANES
        _, group = numbered(warp << 32 | members[block, thread])
        for name, rows in self.told(block, thread, group, stamp):
            self._put(name, block, thread, rows, group)

    def row_of(self, block: int, thread: int, stamp: int) -> Any:
        """All that a thread knows, and what it did until now."""
        self._spread_out()
        row = self.rows[self.index["known"][block, thread]].copy()
        row[thread] = stamp
        return row

    # -- barriers in memory -------------------------------------------------------------------

    def release(self, row: Ints, slot: Ints, block: Ints, thread: Ints, stamp: int) -> None:
        """Threads arrive at objects: what they know now is told to who waits for the phase.

        `objects[table]` (B, slots, 2, columns) has, for each, what was told in all phases, and in
        those that are over."""
        first, group = numbered(row.astype(np.int64) << 32 | slot)
        row, slot = row[first], slot[first]
        for name, news in self.told(block, thread, group, stamp):
            told = self._object(name, slot.max())
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
        first, group = numbered(row.astype(np.int64) << 32 | slot)
        for name in self.index:
            news = self._object(name, slot.max())[row[first], slot[first], 1]
            self.learn(name, block, thread, news, group)

    def _object(self, name: str, slot: int) -> Any:
        told = self.objects.get(name)
        if told is None or told.shape[1] <= slot:
            shape = len(self.base), slot + 8, 2, self.rows.shape[1]
            more = self.objects[name] = np.zeros(shape, np.int32)
            if told is not None:
                more[:, : told.shape[1]] = told
        return self.objects[name]

    # -- fences -----------------------------------------------------------------------------

    def fence(self, scope: str, block: Ints, thread: Ints, stamp: int) -> None:
        """Threads (arrays of indices) may tell in this scope all that they know now."""
        self._spread_out()
        index, own = self._fenced(scope)
        index[block, thread] = self.index["known"][block, thread]
        own[block, thread] = stamp

    def fence_own(self, scope: str, block: Ints, thread: Ints, stamp: int) -> None:
        """The same of what these threads did themselves, and of nothing else that they know."""
        self._fenced(scope)[1][block, thread] = stamp

    def knows_fenced(self, scope: str, block: Ints, thread: Ints, other: Ints) -> Any:
        """The stamp up to which threads know that others have fenced what they did."""
        if scope not in self.index:
            return np.zeros(block.shape, np.int64)
        known = self.rows[self.index[scope][block, thread], other]
        own = self.own[scope][block, thread]
        return np.maximum(known, np.where(other == thread, own, 0))

    def may_tell(self, scope: str, block: Ints, thread: Ints) -> Any:
        """Which threads have passed a fence, or a barrier after one."""
        if scope not in self.index:
            return np.zeros(block.shape, bool)
        told = np.logical_or.reduce(self.rows[: self.count], 1)
        return told[self.index[scope][block, thread]] | (self.own[scope][block, thread] > 0)

    def tells(self, scope: str, block: int, thread: int) -> Any:
        """What a thread that has may tell of its block: (columns,)."""
        row = self.rows[self.index[scope][block, thread]].copy()
        row[thread] = max(row[thread], self.own[scope][block, thread])
        return row


def changes(key: Ints) -> Mask:
    """Where a key is another than the one before."""
    change = np.ones(key.size, bool)
    change[1:] = key[1:] != key[:-1]
    return change


def numbered(key: Ints) -> tuple[np.ndarray, np.ndarray]:
    """Where each distinct key comes first, in their order, and the number of each one's.

    Equal keys are neighbours as a rule, so that there is little to sort."""
    change = changes(key)
    head = np.flatnonzero(change)
    _, first, which = np.unique(key[head], return_index=True, return_inverse=True)
    return head[first], which[np.cumsum(change) - 1]
