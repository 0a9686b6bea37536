"""Faults of memory in words: who, what, where, and which access came before."""

from __future__ import annotations

import numpy as np

from ..ptx.memory import distance, nearest
from .findings import Finding, place

VERBS = {"load": "reads", "store": "writes", "atomic": "updates"}


def verb_of(event) -> str:
    return getattr(event, "verb", VERBS[event.kind])


class Reports:
    """What the ear of the sanitizer says; it has `words`, `findings`, `launch`, `blocks`,
    `records`, `stamps` and `strays`."""

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
            verb, (_, kind) = verb_of(event), self.stamps[self.records.stamp(other)]
            blocks = (
                self.records.thread(other) // self.records.padded != self.blocks[lanes.block[at[0]]]
            )
            between = "and blocks are not ordered" if blocks else "with no barrier in between"
            self.two(
                event,
                lanes,
                at,
                other,
                "race",
                f"{{thread}} {verb} {{address}}, which {{them}} {VERBS[kind]} at {{there}}, "
                f"{between}",
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

    def two(self, event, lanes, where, other, kind: str, sentence: str, what: str = "") -> None:
        """A finding that involves two accesses, of the lanes `where` and of a record."""
        at = where[0]
        name, address = self.words.locate(event.space, lanes.address[at])
        thread = self.words.thread(self.blocks[lanes.block[at]], lanes.thread[at])
        number = self.records.thread(other)
        them = self.words.thread(number // self.records.padded, number % self.records.padded)
        instruction, _ = self.stamps[self.records.stamp(other)]
        there = place(instruction)
        text = sentence.format(thread=thread, address=address, them=them, there=there)
        self.findings.add(
            Finding(
                kind, text, place(event.instruction), thread, address, there, them, int(where.size)
            ),
            name + what,
        )

    def fault(self, event) -> None:
        address = np.broadcast_to(event.address, event.mask.shape)
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
