"""Memory barriers (mbarrier objects): who may use them, how threads are ordered by them, and
whether the bytes that they expect are those that come.
"""

from __future__ import annotations

import numpy as np

from .findings import Finding, place

LASTING = ("init", "owner", "fenced", "phase", "missing", "expected")


class Objects:
    """The memory barriers of a chunk, numbered (`slot`) by their addresses; tables of int64
    (B, slots). `ear`: the Checker."""

    def __init__(self, blocks, ear):
        self.blocks, self.ear = blocks, ear
        self.slot: dict[int, int] = {}  # address -> number
        for name in LASTING:
            setattr(self, name, np.zeros((len(blocks), 0), np.int64))
        # init: the stamp of its initialisation, 0 without. owner: the thread of that. fenced: the
        # stamp of its first fence after that. phase: of the last end of a phase. missing: bytes
        # expected and not there. expected: the record of who expected some last.

    def slots(self, address) -> np.ndarray:
        every, which = np.unique(address, return_inverse=True)
        numbers = [self.slot.setdefault(a, len(self.slot)) for a in every.tolist()]
        more = len(self.slot) - self.init.shape[1]
        if more:
            for name in LASTING:
                setattr(self, name, np.pad(getattr(self, name), ((0, 0), (0, more))))
        return np.array(numbers, np.int64)[which.reshape(-1)]

    # -- what is heard ----------------------------------------------------------------------

    def hear(self, event) -> None:
        row, slot, order = event.row, self.slots(event.address), self.ear.order
        if event.thread.min(initial=0) >= 0:
            self.ear.visit(event, event.row, event.block, event.thread, event.address)
        if event.what == "init":
            self.begin(event, slot)
        elif event.what == "inval":
            self.init[row, slot] = 0
        elif event.what == "phase":
            order.end_phase(row, slot)
            for place in self.places(event):
                self.ear.fences.end_phase(place)
            self.phase[row, slot] = self.ear.now()
        elif event.what == "complete":
            np.subtract.at(self.missing, (row, slot), event.count)
            if event.instruction.opcode == "mbarrier":
                self.check_use(event, slot)
        else:
            self.check_use(event, slot)
            if event.what == "expect":
                np.add.at(self.missing, (row, slot), event.count)
                self.expected[row, slot] = self.stamped(event, event.instruction)
            elif event.what == "arrive":
                here = row == event.block
                if here.any():
                    where = row[here], slot[here], event.block[here], event.thread[here]
                    order.release(*where, self.ear.now())
                for place, b, t in zip(self.places(event), event.block, event.thread):
                    self.ear.fences.send(place, int(b), int(t), self.ear.now())
            elif event.what == "wait":
                order.acquire(row, slot, event.block, event.thread)
                for place, b, t in zip(self.places(event), event.block, event.thread):
                    self.ear.fences.receive(place, int(b), int(t))

    def places(self, event):
        """The objects one by one, where blocks tell each other by them."""
        if self.ear.meetings is None:
            return []
        return zip(event.row.tolist(), event.address.tolist())

    def stamped(self, event, instruction):
        """The records of a new stamp."""
        self.ear.stamps.append((instruction, "store"))
        me = self.blocks[event.block] * self.ear.records.padded + event.thread
        return self.ear.records.pack(self.ear.now(), me)

    def begin(self, event, slot) -> None:
        row = event.row
        self.stamped(event, event.instruction)
        self.init[row, slot], self.owner[row, slot] = self.ear.now(), event.thread
        for table in (self.fenced, self.phase, self.missing, self.expected):
            table[row, slot] = 0

    def fence(self, block, thread, stamp: int) -> None:
        """Threads pass a fence that shows others, and the asynchronous proxy, what they have
        initialised."""
        passed = np.zeros((len(self.blocks), self.ear.records.padded), bool)
        passed[block, thread] = True
        theirs = np.take_along_axis(passed, self.owner, 1)
        self.fenced[theirs & (self.init > 0) & (self.fenced == 0)] = stamp

    # -- what is wrong ----------------------------------------------------------------------

    def check_use(self, event, slot) -> None:
        """Whoever uses a barrier must be ordered after its initialisation."""
        row, order = event.row, self.ear.order
        owner, stamp = self.owner[row, slot], self.init[row, slot]
        here = row == event.block
        known = order.knows(event.block, event.thread, owner)
        late = here & (owner != event.thread) & (stamp > known)
        if late.any() and self.ear.meetings is not None:  # fence.mbarrier_init makes do with that
            came = self.ear.meetings.has_come(event.block, event.thread, owner)
            fenced = self.fenced[row, slot]
            late &= (fenced == 0) | (fenced > came)
        for n in np.flatnonzero(late)[:1].tolist():
            thread = self.thread(event.block[n], event.thread[n])
            self.say(
                row[n],
                slot[n],
                f"{thread} uses {{address}}, which {{owner}} initialises at {{there}}, with no "
                "barrier in between",
                event.instruction,
                thread,
                int(late.sum()),
            )

    def check_report(self, flight, numbers, row, slot) -> None:
        """Copies report: the barrier must have been shown to the asynchronous proxy before they
        were issued, and its phase must have waited for them."""
        init, fenced = self.init[row, slot], self.fenced[row, slot]
        shown = (fenced > 0) & (fenced < flight.stamp) | (flight.base[numbers] >= init)
        if self.ear.meetings is not None:
            issuer = flight.block[numbers], flight.thread[numbers]
            shown |= self.ear.meetings.known(*issuer, row, self.owner[row, slot]) >= init
        self.check(
            flight,
            numbers,
            row,
            slot,
            ~shown & (init > 0),
            "a copy that {thread} starts reports to {address}, which {owner} initialises at "
            "{there}, with neither fence.mbarrier_init nor fence.proxy.async nor a barrier of the "
            "block or the cluster in between",
        )
        over = self.phase[row, slot] > flight.stamp
        for n in np.flatnonzero(over)[:1].tolist():
            thread = self.thread(flight.block[numbers[n]], flight.thread[numbers[n]])
            self.bytes_finding(
                row[n],
                slot[n],
                "a phase of {address} was over before the copy at "
                f"{place(flight.instruction)} had brought its bytes: too few are expected",
                flight.instruction,
                thread,
            )

    def check(self, flight, numbers, row, slot, wrong, sentence: str) -> None:
        for n in np.flatnonzero(wrong)[:1].tolist():
            thread = self.thread(flight.block[numbers[n]], flight.thread[numbers[n]])
            self.say(
                row[n],
                slot[n],
                sentence.replace("{thread}", thread),
                flight.instruction,
                thread,
                int(wrong.sum()),
            )

    def end(self, left_behind) -> None:
        """The kernel is over. left_behind: blocks in which copies are under way still."""
        for row, slot in np.argwhere(self.missing).tolist():
            count = int(self.missing[row, slot])
            if count > 0 and int(self.blocks[row]) in left_behind:
                continue
            if count > 0:
                text = f"{{address}} still expects {count} bytes when the kernel ends"
            else:
                text = f"{{address}} has got {-count} bytes more than it expects"
            self.bytes_finding(row, slot, text, None, None)

    # -- in words ---------------------------------------------------------------------------

    def thread(self, block, thread) -> str:
        return self.ear.words.thread(self.blocks[block], thread)

    def named(self, slot) -> tuple[str, str]:
        address = next(a for a, n in self.slot.items() if n == slot)
        return self.ear.words.locate("shared", address)

    def say(self, row, slot, sentence: str, instruction, thread: str, count: int) -> None:
        """A finding about an object and who initialised it."""
        name, address = self.named(slot)
        owner = self.thread(row, self.owner[row, slot])
        first, _ = self.ear.stamps[self.init[row, slot]]
        self.ear.findings.add(
            Finding(
                "barrier",
                sentence.format(address=address, owner=owner, there=place(first)),
                place(instruction),
                thread,
                address,
                place(first),
                owner,
                count,
            ),
            name,
        )

    def bytes_finding(self, row, slot, sentence: str, copy, them: str | None) -> None:
        """A finding about who expected bytes last, or who initialised the object if nobody."""
        name, address = self.named(slot)
        record = self.expected[row, slot] or self.ear.records.pack(
            self.init[row, slot],
            self.blocks[row] * self.ear.records.padded + self.owner[row, slot],
        )
        instruction, _ = self.ear.stamps[self.ear.records.stamp(record)]
        number, padded = self.ear.records.thread(record), self.ear.records.padded
        self.ear.findings.add(
            Finding(
                "barrier",
                sentence.format(address=address),
                place(instruction),
                self.ear.words.thread(number // padded, number % padded),
                address,
                copy and place(copy),
                them,
            ),
            name,
        )
