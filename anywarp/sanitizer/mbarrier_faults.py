"""Memory barriers (mbarrier objects): who may use them, how threads are ordered by them, and
whether the bytes that they expect are those that come.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.warps import Ints, Mask
from ..ptx.memory.events import MemoryBarrier
from ..ptx.text.syntax import Instruction
from .findings import place
from .reports import Reports

if TYPE_CHECKING:
    from .asynchronous import Flight

TABLES = ("init", "owner", "fenced", "phase", "missing", "expected")


class MemoryBarriers:
    """The memory barriers of a chunk, numbered (`slot`) by their addresses; tables of int64
    (B, slots). `ear`: the Checker."""

    init: np.ndarray  # the stamp of its initialisation, 0 without
    owner: np.ndarray  # the thread of that
    fenced: np.ndarray  # the stamp of its first fence after that
    phase: np.ndarray  # of the last end of a phase
    missing: np.ndarray  # bytes expected and not there
    expected: np.ndarray  # the record of who expected some last

    def __init__(self, blocks: np.ndarray, ear: Reports):
        self.blocks, self.ear = blocks, ear
        self.slot: dict[int, int] = {}  # address -> number
        for name in TABLES:
            setattr(self, name, np.zeros((len(blocks), 0), np.int64))

    def slots(self, address: Ints) -> np.ndarray:
        """The numbers of those at these addresses, new ones where they are new."""
        every, which = np.unique(address, return_inverse=True)
        numbers = [self.slot.setdefault(a, len(self.slot)) for a in every.tolist()]
        more = len(self.slot) - self.init.shape[1]
        if more:
            for name in TABLES:
                setattr(self, name, np.pad(getattr(self, name), ((0, 0), (0, more))))
        return np.array(numbers, np.int64)[which.reshape(-1)]

    # -- what is heard ----------------------------------------------------------------------

    def hear(self, event: MemoryBarrier) -> None:
        """Threads, or copies, do something with memory barriers."""
        row, slot, order = event.row, self.slots(event.address), self.ear.order
        fences, now = self.ear.fences, self.ear.now
        if event.thread.min(initial=0) >= 0:
            self.ear.visit(event, event.row, event.block, event.thread, event.address)
        if event.what == "init":
            self.stamped(event)
            self.init[row, slot], self.owner[row, slot] = now(), event.thread
            for table in (self.fenced, self.phase, self.missing, self.expected):
                table[row, slot] = 0
        elif event.what == "inval":
            self.init[row, slot] = 0
        elif event.what == "phase":
            order.end_phase(row, slot)
            for where in self.places(event):
                fences.end_phase(where)
            self.phase[row, slot] = now()
        elif event.what == "complete":
            np.subtract.at(self.missing, (row, slot), event.count)
            if event.instruction.opcode == "mbarrier":
                self.check_use(event, slot)
        else:
            self.check_use(event, slot)
            threads = zip(self.places(event), event.block.tolist(), event.thread.tolist())
            if event.what == "expect":
                np.add.at(self.missing, (row, slot), event.count)
                self.expected[row, slot] = self.stamped(event)
            elif event.what == "arrive":
                if (here := row == event.block).any():
                    block, thread = event.block[here], event.thread[here]
                    order.release(row[here], slot[here], block, thread, now())
                for where, b, t in threads:
                    fences.send(where, b, t, now())
            elif event.what == "wait":
                order.acquire(row, slot, event.block, event.thread)
                for where, b, t in threads:
                    fences.receive(where, b, t)

    def places(self, event: MemoryBarrier) -> Collection[tuple[int, int]]:
        """(row, address) of each, where blocks tell each other by them."""
        if self.ear.meetings is None:
            return []
        return list(zip(event.row.tolist(), event.address.tolist()))

    def stamped(self, event: MemoryBarrier) -> np.ndarray:
        """The records of a new stamp."""
        me = self.blocks[event.block] * self.ear.records.padded + event.thread
        return self.ear.stamp(event.instruction, "store", me)

    def fence(self, block: Ints, thread: Ints, stamp: int) -> None:
        """Threads pass a fence that shows others, and the asynchronous proxy, what they have
        initialised."""
        passed = np.zeros((len(self.blocks), self.ear.records.padded), bool)
        passed[block, thread] = True
        theirs = np.take_along_axis(passed, self.owner, 1)
        self.fenced[theirs & (self.init > 0) & (self.fenced == 0)] = stamp

    # -- what is wrong ----------------------------------------------------------------------

    def check_use(self, event: MemoryBarrier, slot: Ints) -> None:
        """Whoever uses a barrier must be ordered after its initialisation."""
        row, meetings = event.row, self.ear.meetings
        owner, stamp = self.owner[row, slot], self.init[row, slot]
        here = row == event.block
        known = self.ear.order.knows(event.block, event.thread, owner)
        late = here & (owner != event.thread) & (stamp > known)
        if late.any() and meetings is not None:  # fence.mbarrier_init makes do with that
            came = meetings.has_come(event.block, event.thread, owner)
            fenced = self.fenced[row, slot]
            late &= (fenced == 0) | (fenced > came)
        sentence = "{thread} uses {address}, which {owner} initialises at {there}, with no barrier "
        sentence += "in between"
        self.say(late, (event.block, event.thread, row, slot), sentence, event.instruction)

    def check_report(self, flight: Flight, numbers: Ints, row: Ints, slot: Ints) -> None:
        """Copies report: the barrier must have been shown to the asynchronous proxy before they
        were issued, and its phase must have waited for them."""
        init, fenced = self.init[row, slot], self.fenced[row, slot]
        issuer = flight.event.block[numbers], flight.event.thread[numbers]
        shown = (fenced > 0) & (fenced < flight.stamp) | (flight.base[numbers] >= init)
        if self.ear.meetings is not None:
            shown |= self.ear.meetings.known(*issuer, row, self.owner[row, slot]) >= init
        sentence = "a copy that {thread} starts reports to {address}, which {owner} initialises at "
        sentence += "{there}, with neither fence.mbarrier_init nor fence.proxy.async nor a barrier "
        sentence += "of the block or the cluster in between"
        self.say(~shown & (init > 0), (*issuer, row, slot), sentence, flight.instruction)
        over = self.phase[row, slot] > flight.stamp
        text = f"a phase of {{address}} was over before the copy at {place(flight.instruction)} "
        text += "had brought its bytes: too few are expected"
        for n in np.flatnonzero(over)[:1].tolist():
            thread = self.ear.thread(issuer[0][n], issuer[1][n])
            self.say_bytes(row[n], slot[n], text, flight.instruction, thread)

    def end(self, left_behind: Collection[int]) -> None:
        """The kernel is over. left_behind: blocks in which copies are under way still."""
        for row, slot in np.argwhere(self.missing).tolist():
            count = int(self.missing[row, slot])
            if count > 0 and int(self.blocks[row]) in left_behind:
                continue
            text = f"{{address}} still expects {count} bytes when the kernel ends"
            if count < 0:
                text = f"{{address}} has got {-count} bytes more than it expects"
            self.say_bytes(row, slot, text)

    # -- in words ---------------------------------------------------------------------------

    def named(self, slot: int) -> tuple[str, str]:
        """The array and the element that a memory barrier is."""
        address = next(a for a, n in self.slot.items() if n == slot)
        return self.ear.words.locate("shared", address)

    def say(
        self, wrong: Mask, who: tuple[Ints, Ints, Ints, Ints], sentence: str, i: Instruction
    ) -> None:
        """A finding, where any is `wrong` of (block, thread, row, slot), about an object and who
        initialised it."""
        at = np.flatnonzero(wrong)
        for block, thread, row, slot in np.stack(who, 1)[at[:1]].tolist():
            name, address = self.named(slot)
            owner = self.ear.thread(row, self.owner[row, slot])
            first, _ = self.ear.stamps[self.init[row, slot]]
            me = self.ear.thread(block, thread)
            text = sentence.format(thread=me, address=address, owner=owner, there=place(first))
            sites = i, me, address, first, owner
            self.ear.findings.report("barrier", text, *sites, count=at.size, what=name)

    def say_bytes(
        self, row: int, slot: int, sentence: str, copy: Any = None, them: str | None = None
    ) -> None:
        """A finding about who expected bytes last, or who initialised the object if nobody; `copy`
        is an instruction, and `them` who runs it."""
        name, address = self.named(slot)
        me = self.blocks[row] * self.ear.records.padded + self.owner[row, slot]
        record = self.expected[row, slot] or self.ear.records.pack(self.init[row, slot], me)
        thread, instruction, _ = self.ear.holder(record)
        sites = instruction, thread, address, copy, them
        self.ear.findings.report("barrier", sentence.format(address=address), *sites, what=name)
