"""Who touches what others have touched, or what runs on its own has not done with, or is not known
to have (see `asynchronous`).

Each function takes an access, or what operations do in one space (`Issued`), and the cells that
its threads touch; it tells what is wrong, and returns where: bool (N,), as `skip`, `early` and
`benign` are, with which it is told what needs no telling.
"""

from __future__ import annotations

import numpy as np

from ..analysis.warps import LANES, Ints, Mask
from ..ptx.memory.events import Access
from .reports import Issued, adds
from .shadow import Lanes, Latest, Shadow, Touched
from .static_facts import LOADS
from .waits import Waits

WARPGROUP = 128  # threads
BARRIERS, WARPGROUPS = 32, 8  # columns of `Order` for memory barriers, then for warpgroups


class Overlaps(Waits):
    """The part of the sanitizer that asks shadow memory."""

    # -- accesses of threads ------------------------------------------------------------------

    def private(self, event: Access, shadow: Shadow) -> None:
        """An access to local memory, which nobody else reaches."""
        if event.kind == "load" and shadow.is_filled(shadow.stretches(event)):
            return
        lanes = Lanes(event, shadow, event.space)
        if event.kind != "store":
            self.unfilled(lanes, np.zeros(lanes.cell.size, bool))
        if event.kind != "load":
            self.fill(lanes)
            self.strays.keep(lanes)

    def fill(self, lanes: Touched) -> None:
        """A store, or an atomic operation, fills cells."""
        if lanes.shadow.filled is not None:
            lanes.shadow.filled[lanes.cell] = True

    def read(self, lanes: Lanes, strong: bool) -> None:
        """A load, or an atomic operation, which also writes."""
        record = self.stamp(lanes.event.instruction, lanes.event.kind, lanes.me)
        early, shadow = self.in_flight(lanes), lanes.shadow
        self.unfilled(lanes, early)
        self.conflict(lanes, shadow.written, early)
        if lanes.event.kind != "load":
            self.conflicts(lanes, early, shadow.readers)
            shadow.strong.add(lanes.cell, record)
            self.fill(lanes)
        elif strong:
            shadow.strong_readers.add(lanes.cell, record)
        else:
            self.conflicts(lanes, early, shadow.strong)
            shadow.readers.add(lanes.cell, record)

    def write(self, lanes: Lanes, strong: bool) -> None:
        """A store; of the value that is there it is no race."""
        record = self.stamp(lanes.event.instruction, lanes.event.kind, lanes.me)
        early, shadow, value = self.in_flight(lanes), lanes.shadow, lanes.values()
        self.conflict(lanes, shadow.written, early | (value == shadow.value[lanes.cell]))
        self.conflicts(lanes, early, shadow.readers)
        self.fill(lanes)
        self.strays.keep(lanes)
        shadow.supersede(lanes.cell)
        shadow.value[lanes.cell] = value
        if strong:
            shadow.strong.add(lanes.cell, record)
            return
        self.conflicts(lanes, early, shadow.strong, shadow.strong_readers)
        shadow.written[lanes.cell] = record
        self.collision(lanes, shadow.written, record, value == shadow.value[lanes.cell])

    # -- races --------------------------------------------------------------------------------

    def collision(self, lanes: Touched, table: Ints, record: Ints, benign: Mask) -> None:
        """Several lanes of one instruction write to one cell."""
        top = table[lanes.cell]
        lost = np.flatnonzero((top != record) & ~benign)
        self.race(lanes, lost, top[lost])

    def conflicts(self, lanes: Touched, skip: Mask, *every: Latest) -> None:
        """Races with the records in several tables."""
        for latest in every:
            strong, known = latest is lanes.shadow.strong, skip
            for table in latest.columns:
                known = known | self.conflict(lanes, table, known, strong)

    def conflict(self, lanes: Touched, table: Ints, skip: Mask, strong: bool = False) -> Mask:
        """Races with the records in the table (of strong accesses)."""
        record = table[lanes.cell]
        races = np.zeros(record.size, bool)
        if lanes.event.space == "shared" and self.meetings is None:  # rows belong to one block
            at = np.flatnonzero(self.records.stamp(record) > self.order.base[lanes.block])
        else:
            at = np.flatnonzero(record)
        at = at[(self.records.thread(record[at]) != lanes.me[at]) & ~skip[at]]
        if at.size == 0:
            return races
        other, stamp = self.records.thread(record[at]), self.records.stamp(record[at])
        padded = self.records.padded
        same = other // padded == self.blocks[lanes.block[at]]
        known = self.order.knows(lanes.block[at], lanes.thread[at], other % padded)
        known = np.where(same, known, 0)
        if not same.all():
            far = np.flatnonzero(~same)
            block, thread = lanes.block[at][far], lanes.thread[at][far]
            theirs, number = np.divmod(other[far], padded)
            known[far] = self.known_of_blocks(block, thread, theirs, number, strong)
        at = at[stamp > known]
        races[at] = True
        self.race(lanes, at, record[at])
        return races

    def unfilled(self, lanes: Touched, early: Mask) -> None:
        """A read of what nobody has written: at fault, if it is not a load into registers, of which
        `undefined` says more."""
        if lanes.shadow.filled is None:
            return
        undefined = ~(lanes.shadow.filled[lanes.cell] | early)
        if not undefined.any():
            return
        event = lanes.event
        if event.instruction.opcode in (*LOADS, "ldmatrix"):
            self.strays.loaded(lanes, undefined.reshape(-1, lanes.per_lane))
            return
        at = int(np.argmax(undefined))
        who = lanes.block[at], lanes.thread[at], lanes.address[at]
        self.unwritten_read(event.instruction, event.space, who, int(undefined.sum()))

    # -- what runs on its own -----------------------------------------------------------------

    def in_flight(self, lanes: Touched) -> Mask:
        """Where what runs on its own is not done, or not known to be."""
        early = self.flying(lanes)
        early |= self.unordered(lanes, early)
        if lanes.event.kind != "load":
            early |= self.still_read(lanes, early)
        return early

    def flying(self, lanes: Touched) -> Mask:
        """Where a copy is under way to."""
        if lanes.shadow.flying is None:
            return np.zeros(lanes.cell.size, bool)
        record = lanes.shadow.flying[lanes.cell]
        early = np.asarray(record > 0)
        where = np.flatnonzero(early)
        which = "to which {them} has a copy under way since {there} and has not waited for it"
        self.tell(lanes, where, record[where], "asynchronous copy", which, self.both_add)
        return early

    def unordered(self, lanes: Touched, skip: Mask) -> Mask:
        """Where a copy has landed, and the thread is not ordered after a wait for it."""
        late = np.zeros(lanes.cell.size, bool)
        if lanes.shadow.copied is None:
            return late
        record = lanes.shadow.copied[lanes.cell]
        at = np.flatnonzero((record > 0) & ~skip)
        row, column = np.divmod(lanes.shadow.barrier[lanes.cell[at]], BARRIERS)
        at = at[self.unknown(lanes, at, row, column, record[at])]
        late[at] = True
        which = "which a copy that {them} issued at {there} has filled, and nothing orders this "
        which += "after a wait for that copy"
        self.tell(lanes, at, record[at], "asynchronous copy", which, self.both_add)
        return late

    def both_add(self, event: Access | Issued, record: int) -> bool:
        """Whether two operations add to what is there, in whichever order."""
        return adds(event.instruction) and adds(self.holder(record)[1])

    def unknown(self, lanes: Touched, at: Ints, row: Ints, column: Ints, record: Ints) -> Ints:
        """Which of these lanes do not know that what has a column, in the blocks `row`, is done up
        to the record. Any lane speaks for its warp where the warp acts together."""
        stamp, block, thread = self.records.stamp(record), lanes.block[at], lanes.thread[at]
        known = self.order.knows_landed(block, thread, column)
        if self.meetings is not None:
            far = np.flatnonzero(row != block)
            other = self.order.padded + column[far]
            theirs = self.blocks[row[far]]
            known[far] = self.known_of_blocks(block[far], thread[far], theirs, other)
        late = np.flatnonzero(stamp > known)
        if lanes.event.instruction.opcode == "wgmma" and late.size:
            key = block[late].astype(np.int64) << 40 | thread[late] << 20 | column[late]
            _, first, which = np.unique(key, return_index=True, return_inverse=True)
            some = late[first]
            lane = thread[some] // LANES * LANES + np.arange(LANES)[:, None]
            best = np.asarray(self.order.knows_landed(block[some], lane, column[some]))
            best = np.broadcast_to(best, lane.shape).max(0)
            late = late[stamp[late] > best[which]]
        return late

    def still_read(self, lanes: Touched, skip: Mask) -> Mask:
        """Where a copy is under way from, or warpgroups multiply with."""
        busy = np.zeros(lanes.cell.size, bool)
        if lanes.shadow.copied is None:
            return busy
        record = lanes.shadow.lent[lanes.cell]
        where = np.flatnonzero((record > 0) & ~skip)
        busy[where] = True
        which = "from which {them} has a copy under way since {there} and has not waited for it"
        self.tell(lanes, where, record[where], "asynchronous copy", which)
        for table in lanes.shadow.factors.columns:
            record = table[lanes.cell]
            at = np.flatnonzero((record > 0) & ~skip & ~busy)
            group = self.records.thread(record[at]) % self.records.padded // WARPGROUP
            at = at[self.unknown(lanes, at, lanes.row[at], BARRIERS + group, record[at])]
            busy[at] = True
            which = "which the warpgroup of {them} multiplies with at {there}, and nothing orders "
            which += "this after its wgmma.wait_group"
            self.tell(lanes, at, record[at], "race", which)
        return busy

    def unfenced(self, lanes: Touched, skip: Mask) -> None:
        """Where ordinary stores may not be seen by the asynchronous proxy."""
        for table in (lanes.shadow.written, *lanes.shadow.strong.columns[:1]):
            record = table[lanes.cell]
            at = np.flatnonzero((record > 0) & ~skip)
            stamp, other = self.records.stamp(record[at]), self.records.thread(record[at])
            own = other // self.records.padded == self.blocks[lanes.block[at]]
            other = other % self.records.padded
            known = self.order.knows_fenced("async", lanes.block[at], lanes.thread[at], other)
            at = at[own & (stamp > known)]
            which = "which {them} writes at {there} with no fence.proxy.async before the barrier "
            which += "in between"
            by_copy = lambda _, record: self.holder(record)[1].opcode == "cp"  # made the record
            self.tell(lanes, at, record[at], "race", which, by_copy)
