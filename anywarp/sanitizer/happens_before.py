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
        self.nothing = np.zeros(padded + columns, np.int32)
        self.count = 0  # of rows; then comes room for more
        self.index: dict[str, np.ndarray] = {}
        self.own: dict[str, np.ndarray] = {}
        # (table's name, place) -> the row that was told there; and in phases that are over
        self.sent: dict[tuple[str, int], np.ndarray] = {}
        self.over: dict[tuple[str, int], np.ndarray] = {}

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
        row = self._table(name)[block, thread]
        first, group = numbered(row * len(news) + which)
        self._put(name, block, thread, np.maximum(self.rows[row[first]], news[which[first]]), group)

    def told(
        self, block: Ints, thread: Ints, group: Ints, stamp: int
    ) -> Iterator[tuple[str, np.ndarray]]:
        """Yield the name of each table, and what groups of threads know together once they know
        their own stamp; `group`: 0, 1, … of each thread."""
        self._table("known")
        for name, index in self.index.items():
            row = index[block, thread]
            first, _ = numbered(group * self.count + row)
            together, starts = self.rows[row[first]], np.flatnonzero(changes(group[first]))
            if len(starts) < len(together):  # some have several rows
                together = np.maximum.reduceat(together, starts)
            own = stamp if name == "known" else self.own[name][block, thread]
            together[group, thread] = np.maximum(together[group, thread], own)
            yield name, together

    # -- rows -------------------------------------------------------------------------------

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

    def _table(self, name: str) -> Any:
        """Which rows threads have in a table; at first all of a block have one."""
        if name not in self.index:
            rows = np.zeros((len(self.base), self.nothing.size), np.int32)
            if name == "known":
                rows[:, : self.padded], rows[:, self.padded :] = self.base[:, None], self.landed
            row = self._add(rows) + np.arange(len(rows))
            self.index[name] = np.repeat(row[:, None], self.padded, 1)
            self.own[name] = np.zeros((len(rows), self.padded), np.int32)
        return self.index[name]

    # -- barriers ---------------------------------------------------------------------------

    def all_wait(self, going: Mask, stamp: int) -> None:
        """A barrier of the whole block, in the blocks where `going` (B,) is true."""
        self.base[going] = stamp
        if not self.index:
            return
        block, thread = np.nonzero(np.repeat(going[:, None], self.padded, 1))
        group = (np.cumsum(going) - 1)[block]
        for name, rows in self.told(block, thread, group, stamp):
            if name == "known":
                rows[:, : self.padded] = stamp
                self.landed[going] = rows[:, self.padded :]
            self._put(name, block, thread, rows, group)
        if going.all():
            del self.index["known"]

    def some_wait(self, number: int, mask: Mask, stamp: int) -> None:
        """A barrier of the threads of the mask (B, T); those that arrived at it count."""
        self.arrive(number, mask, stamp)
        block, thread = np.nonzero(mask)
        self._hear(self.sent, block, thread, ~(block << 32 | number))
        for place in dict.fromkeys((~(block << 32 | number)).tolist()):
            for name in self.index:
                del self.sent[name, place]

    def arrive(self, number: int, mask: Mask, stamp: int) -> None:
        """bar.arrive: what these threads know now is what the barrier will tell of them."""
        block, thread = np.nonzero(mask)
        self._send(block, thread, ~(block << 32 | number), stamp)

    def lanes_wait(self, members: Ints, mask: Mask, stamp: int) -> None:
        """Lanes of the mask have waited for those in their member masks, uint32 (B, T)."""
        block, thread = np.nonzero(mask)
        warp = (block * self.padded + thread) // LANES
        _, group = numbered(warp << 32 | members[block, thread])
        for name, rows in self.told(block, thread, group, stamp):
            self._put(name, block, thread, rows, group)

    def row_of(self, block: int, thread: int, stamp: int) -> Any:
        """All that a thread knows, and what it did until now."""
        number = self._table("known")[block, thread]
        row = self.rows[number].copy()
        row[thread] = stamp
        return row

    # -- barriers in memory -------------------------------------------------------------------

    def release(self, row: Ints, slot: Ints, block: Ints, thread: Ints, stamp: int) -> None:
        """Threads arrive at objects: what they know now is told to who waits for the phase."""
        self._send(block, thread, row << 32 | slot, stamp)

    def report(self, row: Ints, slot: Ints, column: Ints, stamp: int) -> None:
        """What runs on its own reports to objects: it is done up to that stamp."""
        for place, each in zip((row << 32 | slot).tolist(), column.tolist()):
            told = self.sent.get(("known", place), self.nothing).copy()
            told[self.padded + each] = stamp
            self.sent["known", place] = told

    def end_phase(self, row: Ints, slot: Ints) -> None:
        """Phases of objects are over."""
        places = {*(row << 32 | slot).tolist()}
        self.over |= {key: row for key, row in self.sent.items() if key[1] in places}

    def acquire(self, row: Ints, slot: Ints, block: Ints, thread: Ints) -> None:
        """Threads have found a phase over."""
        self._hear(self.over, block, thread, row << 32 | slot)

    def _send(self, block: Ints, thread: Ints, place: Ints, stamp: int) -> None:
        first, group = numbered(place)
        for name, rows in self.told(block, thread, group, stamp):
            for key, row in zip(place[first].tolist(), rows):
                self.sent[name, key] = np.maximum(row, self.sent.get((name, key), 0))

    def _hear(self, told: Any, block: Ints, thread: Ints, place: Ints) -> None:
        self._table("known")
        first, group = numbered(place)
        for name in self.index:
            news = [told.get((name, key), self.nothing) for key in place[first].tolist()]
            self.learn(name, block, thread, np.array(news), group)

    # -- fences -----------------------------------------------------------------------------

    def fence(self, scope: str, block: Ints, thread: Ints, stamp: int) -> None:
        """Threads (arrays of indices) may tell in this scope all that they know now."""
        index, known = self._table(scope), self._table("known")
        index[block, thread] = known[block, thread]
        self.own[scope][block, thread] = stamp

    def fence_own(self, scope: str, block: Ints, thread: Ints, stamp: int) -> None:
        """The same of what these threads did themselves, and of nothing else that they know."""
        self._table(scope)
        self.own[scope][block, thread] = stamp

    def knows_fenced(self, scope: str, block: Ints, thread: Ints, other: Ints) -> Any:
        """The stamp up to which threads know that others have fenced what they did."""
        number = self._table(scope)[block, thread]
        known = self.rows[number, other]
        own = self.own[scope][block, thread]
        return np.maximum(known, np.where(other == thread, own, 0))

    def may_tell(self, scope: str, block: Ints, thread: Ints) -> Any:
        """Which threads have passed a fence, or a barrier after one."""
        if scope not in self.index:
            return np.zeros(block.shape, bool)
        told = np.logical_or.reduce(self.rows[: self.count], 1)
        return told[self.index[scope][block, thread]] | (self.own[scope][block, thread] > 0)

    def tells(self, scope: str, block: Ints, thread: Ints) -> Any:
        """What threads that have may now tell of their blocks: a function of their number in these
        arrays -> (columns,); None if none has."""
        if scope not in self.index:
            return None
        rows, own = self.rows, self.own[scope][block, thread]
        each = self.index[scope][block, thread]

        def row_of(n: int) -> Any:
            row = rows[each[n]].copy()
            row[thread[n]] = max(row[thread[n]], own[n])
            return row

        return row_of


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
