"""Who touches what runs on its own has not done with, or is not known to have (see `asynchronous`).

Each function takes an access, or what operations do in one space (`Issued`), and the cells that
its threads touch; it tells what is wrong, and returns where.
"""

from __future__ import annotations

import numpy as np

from .reports import Reports, adds
from .shadow import LANES

WARPGROUP = 128  # threads
BARRIERS, WARPGROUPS = 32, 8  # columns of `Order` for memory barriers, then for warpgroups


class Overlaps(Reports):
    """The part of the sanitizer that asks the shadow of shared memory; has what `Checker` has."""

    def in_flight(self, event, shadow, lanes):
        """Where what runs on its own is not done, or not known to be: findings, and true in the
        array that comes back."""
        if shadow.flying is None:
            return np.zeros(lanes.cell.size, bool)
        early = self.flying(event, shadow, lanes)
        early = early | self.unordered(event, shadow, lanes, early)
        if event.kind != "load":
            early = early | self.still_read(event, shadow, lanes, early)
        return early

    def flying(self, event, shadow, lanes):
        """Where a copy is under way to."""
        record = shadow.flying[lanes.cell]
        early = record > 0
        where = np.flatnonzero(early)
        self.tell(
            event,
            lanes,
            where,
            record[where],
            "asynchronous copy",
            "to which {them} has a copy under way since {there} and has not waited for it",
            but=self.both_add,
        )
        return early

    def unordered(self, event, shadow, lanes, skip):
        """Where a copy has landed, and the thread is not ordered after a wait for it."""
        late = np.zeros(lanes.cell.size, bool)
        if shadow.copied is None:
            return late
        record = shadow.copied[lanes.cell]
        at = np.flatnonzero((record > 0) & ~skip)
        row, column = np.divmod(shadow.barrier[lanes.cell[at]], BARRIERS)
        at = at[self.unknown(lanes, at, row, column, record[at], event)]
        late[at] = True
        self.tell(
            event,
            lanes,
            at,
            record[at],
            "asynchronous copy",
            "which a copy that {them} issued at {there} has filled, and nothing orders this after "
            "a wait for that copy",
            but=self.both_add,
        )
        return late

    def tell(self, event, lanes, where, records, kind, which, but=lambda event, other: False):
        """A finding for each instruction among the records, `but` for some of them."""
        for at, other in self.each_place(where, records):
            if not but(event, other):
                self.two(event, lanes, at, other, kind, which)

    def both_add(self, event, record) -> bool:
        return adds(event.instruction) and adds(self.stamps[self.records.stamp(record)][0])

    def by_copy(self, event, record) -> bool:
        return self.stamps[self.records.stamp(record)][0].opcode == "cp"

    def unknown(self, lanes, at, row, column, record, event):
        """Which of these lanes do not know that what has a column, in the blocks `row`, is done up
        to the record. Any lane speaks for its warp where the warp acts together."""
        stamp, block, thread = self.records.stamp(record), lanes.block[at], lanes.thread[at]
        known = self.order.knows_landed(block, thread, column)
        if self.meetings is not None:
            far = np.flatnonzero(row != block)
            other = self.order.padded + column[far]
            known[far] = self.known_afar(block[far], thread[far], row[far], other)
        late = np.flatnonzero(stamp > known)
        if event.instruction.opcode == "wgmma" and late.size:
            one = block[late] << 40 | thread[late] << 20 | column[late]
            _, first, which = np.unique(one, return_index=True, return_inverse=True)
            some = late[first]
            lane = thread[some] // LANES * LANES + np.arange(LANES)[:, None]
            best = np.asarray(self.order.knows_landed(block[some], lane, column[some]))
            best = np.broadcast_to(best, lane.shape).max(0)
            late = late[stamp[late] > best[which]]
        return late

    def still_read(self, event, shadow, lanes, skip):
        """Where a copy is under way from, or warpgroups multiply with."""
        busy = np.zeros(lanes.cell.size, bool)
        if shadow.copied is None:
            return busy
        record = shadow.lent[lanes.cell]
        where = np.flatnonzero((record > 0) & ~skip)
        busy[where] = True
        self.tell(
            event,
            lanes,
            where,
            record[where],
            "asynchronous copy",
            "from which {them} has a copy under way since {there} and has not waited for it",
        )
        for table in shadow.factors.columns:
            record = table[lanes.cell]
            at = np.flatnonzero((record > 0) & ~skip & ~busy)
            group = self.records.thread(record[at]) % self.records.padded // WARPGROUP
            row = lanes.row[at]
            at = at[self.unknown(lanes, at, row, BARRIERS + group, record[at], event)]
            busy[at] = True
            self.tell(
                event,
                lanes,
                at,
                record[at],
                "race",
                "which the warpgroup of {them} multiplies with at {there}, and nothing orders "
                "this after its wgmma.wait_group",
            )
        return busy

    def unfenced(self, event, shadow, lanes, skip) -> None:
        """Where ordinary stores may not be seen by the asynchronous proxy."""
        for table in (shadow.written, *shadow.strong.columns[:1]):
            record = table[lanes.cell]
            at = np.flatnonzero((record > 0) & ~skip)
            if not at.size:
                continue
            stamp, other = self.records.stamp(record[at]), self.records.thread(record[at])
            own = other // self.records.padded == self.blocks[lanes.block[at]]
            other = other % self.records.padded
            known = self.order.knows_fenced("async", lanes.block[at], lanes.thread[at], other)
            at = at[own & (stamp > known)]
            self.tell(
                event,
                lanes,
                at,
                table[lanes.cell[at]],
                "race",
                "which {them} writes at {there} with no fence.proxy.async before the barrier in "
                "between",
                but=self.by_copy,
            )
