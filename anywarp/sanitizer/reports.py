"""Faults of memory in words: who, what, where, and which access came before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..ptx.memory.allocations import distance, nearest
from .findings import Finding, place

VERBS = {"load": "reads", "store": "writes", "atomic": "updates"}


def verb_of(event) -> str:
    return getattr(event, "verb", VERBS[event.kind])


def adds(instruction) -> bool:
    """Whether it combines what it brings with what is there, as others may at the same time."""
    return instruction.opcode == "red" or instruction.modifiers[:1] == ("reduce",)


class Reports:
    """What the ear of the sanitizer says; it has `words`, `findings`, `launch`, `blocks`,
    `records`, `stamps`, `strays`, and for clusters `meetings` and `visits`."""

    def stray(self, event) -> None:
        """A store of what a shuffle took from a lane that was not there."""
        bad = self.strays.stored(event)
        if bad is None:
            return
        shuffle, lane = self.strays.origin
        bad = np.broadcast_to(bad, (len(self.blocks), self.threads))
        if event.mask is not None:
            bad = bad & event.mask
        if bad.any():
            b, t = np.argwhere(bad)[0]
            thread = self.words.thread(self.blocks[b], t)
            self.findings.add(
                Finding(
                    "uninitialised",
                    f"{thread} {VERBS[event.kind]} memory at {place(event.instruction)} with a "
                    f"value that comes from a lane which takes no part in this, such as {lane}",
                    place(shuffle),
                    thread,
                    other_position=place(event.instruction),
                    count=int(bad.sum()),
                )
            )

    def race(self, event, lanes, where, records) -> None:
        for at, other in self.each_place(where, records):
            _, kind = self.stamps[self.records.stamp(other)]
            blocks = (
                self.records.thread(other) // self.records.padded != self.blocks[lanes.block[at[0]]]
            )
            between = "with no barrier in between"
            if blocks and self.meetings is not None and event.space == "shared":
                between = "with no barrier of the cluster in between"
            elif blocks:
                between = "and blocks are not ordered"
            self.two(
                event,
                lanes,
                at,
                other,
                "race",
                f"which {{them}} {VERBS[kind]} at {{there}}, {between}",
                "-".join(sorted((VERBS[kind], VERBS[event.kind]))),
            )

    def each_place(self, where, records):
        """(indices, a record) for each instruction among the records, in order of the run."""
        if where.size == 0:
            return
        stamps = self.records.stamp(records)
        for stamp in np.unique(stamps):
            these = np.flatnonzero(stamps == stamp)
            yield where[these], records[these[0]]

    def two(self, event, lanes, where, other, kind: str, which: str, what: str = "") -> None:
        """A finding that involves two accesses, of the lanes `where` and of a record. `which` ends
        its sentence, of an address, where {them} and {there} are who has the record and where."""
        at = where[0]
        name, address = self.words.locate(event.space, lanes.address[at])
        thread = self.words.thread(self.blocks[lanes.block[at]], lanes.thread[at])
        number = self.records.thread(other)
        them = self.words.thread(number // self.records.padded, number % self.records.padded)
        instruction, _ = self.stamps[self.records.stamp(other)]
        there = place(instruction)
        text = f"{thread} {verb_of(event)} {address}, {which.format(them=them, there=there)}"
        self.findings.add(
            Finding(
                kind, text, place(event.instruction), thread, address, there, them, int(where.size)
            ),
            name + what,
        )

    def visit(self, event, row, block, thread, address, ends: bool = False) -> None:
        """Threads reach into other blocks of their cluster, which must have begun and may not
        exit before they know of it. ends: they do when it is done."""
        if self.meetings is None or not (row != block).any():
            return
        away = np.flatnonzero(row != block)
        row, block, thread, address = row[away], block[away], thread[away], address[away]
        self.stamps.append((event.instruction, getattr(event, "kind", "atomic")))
        me = self.blocks[block] * self.records.padded + thread
        record = self.records.pack(len(self.stamps) - 1, me)
        early = self.meetings.waited[block, thread] < 0
        if early.any():
            n = int(np.argmax(early))
            why = "may not have begun: no barrier of the cluster comes before"
            self.visited(row[n], block[n], thread[n], record[n], address[n], why, int(early.sum()))
        if not ends:
            self.visits.add(
                row[~early], block[~early], thread[~early], address[~early], record[~early]
            )

    def end_visits(self) -> None:
        """A chunk is over."""
        if self.visits is not None:
            why = "may have exited by then: no barrier of the cluster comes after"
            for where in self.visits.open(self.blocks, self.records, self.meetings, self.fences):
                self.visited(*where, why, 1)

    def visited(self, row, block, thread, record, address, why: str, count: int) -> None:
        name, text = self.words.locate("shared", address)
        who = self.words.thread(self.blocks[block], thread)
        whose = self.words.thread(self.blocks[row], 0).partition(", thread")[0]
        instruction, kind = self.stamps[self.records.stamp(record)]
        self.findings.add(
            Finding(
                "out of bounds",
                f"{who} {VERBS[kind]} {text} in the shared memory of {whose}, which {why}",
                place(instruction),
                who,
                text,
                count=count,
            ),
            name + why,
        )

    def fault(self, event) -> None:
        address = np.broadcast_to(event.address, event.mask.shape)
        if event.exited is not None:
            self.gone(event, address)
            event = replace(event, mask=event.mask & ~event.exited, exited=None)
        homes = self.launch.allocations[event.space if event.space != "const" else "global"]
        inside = np.zeros(address.shape, bool)
        for a in homes:
            inside |= (address >= a.start) & (address < a.end)
        odd = inside & (address % event.align != 0)
        for kind, wrong in (("misaligned", event.mask & odd), ("out of bounds", event.mask & ~odd)):
            if not wrong.any():
                continue
            b, t = np.argwhere(wrong)[0]
            home = nearest(homes, int(address[b, t]))
            name, text = self.words.locate(event.space, address[b, t])
            thread = self.words.thread(self.blocks[b], t)
            how = (
                f"{thread} {VERBS[event.kind]} {event.width} bytes at {text} in {event.space} "
                "memory, "
            )
            if kind == "misaligned":
                how += f"which is not a multiple of {event.align} bytes"
            elif home is None:
                how += f"where there is no allocation: address {int(address[b, t]):#x}"
            else:
                how += distance(home, int(address[b, t]), name)
            self.findings.add(
                Finding(kind, how, place(event.instruction), thread, text, count=int(wrong.sum())),
                name,
            )

    def gone(self, event, address) -> None:
        """Blocks have exited whose shared memory is accessed."""
        b, t = np.argwhere(event.exited)[0]
        row = np.broadcast_to(event.rows, event.mask.shape)[b, t]
        self.stamps.append((event.instruction, event.kind))
        record = self.records.pack(len(self.stamps) - 1, 0)
        self.visited(row, b, t, record, address[b, t], "has exited", int(event.exited.sum()))
