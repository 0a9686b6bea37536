"""Faults of memory in words: who, what, where, and which access came before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..analysis.warps import Ints
from ..ptx.memory.allocations import distance, nearest
from ..ptx.memory.events import Access, Fault, Launched
from ..ptx.text import isa
from ..ptx.text.syntax import Instruction
from .cluster_faults import Meetings, Visits
from .fences import Fences
from .findings import Findings, Words, place
from .happens_before import Order
from .shadow import Records, Shadow, Touched
from .static_facts import Facts
from .undefined import DATA, Strays

VERBS = {"load": "reads", "store": "writes", "atomic": "updates"}


@dataclass(frozen=True)
class Issued:
    """What operations of their own, such as copies, do in one space; asked for like an Access."""

    instruction: Instruction
    kind: str
    space: str
    width: int


But = Callable[[Any, int], bool] | None  # of an access and a record: is it to be passed over?


def verb_of(event: Access | Issued) -> str:
    """What the threads of an access do, for a sentence."""
    if not isinstance(event, Issued):
        return VERBS[event.kind]
    what = "product" if event.instruction.opcode == "wgmma" else "copy"
    return f"starts a {what} that {VERBS[event.kind]}"


def adds(instruction: Instruction) -> bool:
    """Whether it combines what it brings with what is there, as others may at the same time."""
    return instruction.opcode == "red" or instruction.modifiers[:1] == ("reduce",)


class Reports:
    """What the parts of the sanitizer's ear share, which `Checker` makes; and what they say."""

    findings: Findings
    words: Words
    facts: Facts
    grain: int  # bytes of a cell
    launch: Launched
    blocks: np.ndarray  # of the chunk, by number
    threads: int  # of a block
    shape: tuple[int, int]  # blocks of the chunk, threads
    records: Records
    stamps: list[tuple[Any, str]]  # stamp -> (instruction, kind)
    shadows: dict[str, Shadow]  # by space
    order: Order
    fences: Fences
    meetings: Meetings | None  # where clusters have several blocks, as `visits`
    visits: Visits | None
    strays: Strays

    def now(self) -> int:
        """The latest stamp."""
        return len(self.stamps) - 1

    def stamp(self, instruction: Instruction, kind: str, me: Ints) -> np.ndarray:
        """The records of a new stamp, of threads of the grid."""
        self.stamps.append((instruction, kind))
        records: np.ndarray = self.records.pack(self.now(), me)
        return records

    def thread(self, block: int, thread: int) -> str:
        """A thread of the chunk in words."""
        return self.words.thread(self.blocks[block], thread)

    def holder(self, record: int) -> tuple[str, Instruction, str]:
        """Of a record, the thread in words, its instruction, and the kind of access."""
        number, padded = self.records.thread(record), self.records.padded
        instruction, kind = self.stamps[self.records.stamp(record)]
        return self.words.thread(number // padded, number % padded), instruction, kind

    def undefined(self, user: Instruction, origin: Instruction, space: str, strays: Ints) -> None:
        """An instruction makes use of what a load got from where nobody has written, or of what a
        shuffle took from a lane that was not there: `strays` as in `undefined`."""
        strays = np.broadcast_to(strays, self.shape)
        b, t = np.argwhere(strays)[0].tolist()
        count, data = int((strays > 0).sum()), int(strays[b, t]) & (1 << DATA) - 1
        if space:
            self.unwritten_read(origin, space, (b, t, data), count, user)
            return
        thread, kind = self.thread(b, t), "atomic" if isa.lookup(user).kind == "atomic" else "store"
        text = f"{thread} {VERBS[kind]} memory at {place(user)} with a value that comes "
        text += f"from a lane which takes no part in this, such as {data}"
        self.findings.report("uninitialised", text, origin, thread, None, user, count=count)

    def unwritten_read(
        self, i: Instruction, space: str, who: Any, count: int, user: Instruction | None = None
    ) -> None:
        """A thread, `who` is (b, t, address), reads what nobody has written."""
        thread = self.thread(*who[:2])
        name, where = self.words.locate(space, who[2])
        text = f"{thread} reads {where} in {space} memory, which nobody has written"
        if user is not None and place(user) != place(i):
            text += f", and what comes of it matters at {place(user)}"
        self.findings.report("uninitialised", text, i, thread, where, count=count, what=name)

    def race(self, lanes: Touched, where: Ints, records: Ints) -> None:
        """Lanes race with those who have the records: a finding for each instruction of these."""
        for at, other in self.each_place(where, records):
            kind = self.stamps[self.records.stamp(other)][1]
            theirs = self.records.thread(other) // self.records.padded
            between = "with no barrier in between"
            if theirs != self.blocks[lanes.block[at[0]]]:
                between = "and blocks are not ordered"
                if self.meetings is not None and lanes.event.space == "shared":
                    between = "with no barrier of the cluster in between"
            which = f"which {{them}} {VERBS[kind]} at {{there}}, {between}"
            what = "-".join(sorted((VERBS[kind], VERBS[lanes.event.kind])))
            self.two(lanes, at, other, "race", which, what)

    def tell(
        self, lanes: Touched, where: Ints, records: Ints, kind: str, which: str, but: But = None
    ) -> None:
        """A finding for each instruction among the records, `but` for some of them."""
        for at, other in self.each_place(where, records):
            if but is None or not but(lanes.event, other):
                self.two(lanes, at, other, kind, which)

    def each_place(self, where: Ints, records: Ints) -> Iterator[tuple[np.ndarray, int]]:
        """(indices, a record) for each instruction among the records, in order of the run."""
        stamps = self.records.stamp(records)
        for stamp in np.unique(stamps):
            these = np.flatnonzero(stamps == stamp)
            yield where[these], int(records[these[0]])

    def two(
        self, lanes: Touched, where: Ints, other: int, kind: str, which: str, what: str = ""
    ) -> None:
        """A finding that involves two accesses, of the lanes `where` and of a record. `which` ends
        its sentence, of an address, where {them} and {there} are who has the record and where."""
        at = where[0]
        name, address = self.words.locate(lanes.event.space, lanes.address[at])
        thread = self.thread(lanes.block[at], lanes.thread[at])
        them, instruction, _ = self.holder(other)
        which = which.format(them=them, there=place(instruction))
        text = f"{thread} {verb_of(lanes.event)} {address}, {which}"
        sites = lanes.event.instruction, thread, address, instruction, them
        self.findings.report(kind, text, *sites, count=where.size, what=name + what)

    # -- the shared memory of other blocks --------------------------------------------------

    def visit(
        self, event: Any, row: Ints, block: Ints, thread: Ints, address: Ints, ends: bool = False
    ) -> None:
        """Threads of an event reach into other blocks of their cluster, which must have begun and
        may not exit before they know of it. ends: they do when it is done."""
        if self.meetings is None or self.visits is None or not (row != block).any():
            return
        away = np.flatnonzero(row != block)
        row, block, thread, address = row[away], block[away], thread[away], address[away]
        me = self.blocks[block] * self.records.padded + thread
        record = self.stamp(event.instruction, getattr(event, "kind", "atomic"), me)
        early = self.meetings.waited[block, thread] < 0
        if early.any():
            n = int(np.argmax(early))
            why = "may not have begun: no barrier of the cluster comes before"
            self.visited(row[n], block[n], thread[n], record[n], address[n], why, early.sum())
        if not ends:
            here = ~early
            self.visits.add(row[here], block[here], thread[here], address[here], record[here])

    def end_visits(self) -> None:
        """A chunk is over."""
        if self.visits is not None and self.meetings is not None:
            why = "may have exited by then: no barrier of the cluster comes after"
            for where in self.visits.open(self.blocks, self.records, self.meetings, self.fences):
                self.visited(*where, why, 1)

    def visited(
        self, row: int, block: int, thread: int, record: int, address: int, why: str, count: int
    ) -> None:
        """A thread reaches into the block `row`, and should not."""
        name, text = self.words.locate("shared", address)
        who = self.thread(block, thread)
        whose = self.thread(row, 0).partition(", thread")[0]
        _, instruction, kind = self.holder(record)
        said = f"{who} {VERBS[kind]} {text} in the shared memory of {whose}, which {why}"
        sites = instruction, who, text
        self.findings.report("out of bounds", said, *sites, count=count, what=name + why)

    # -- accesses that are not made ---------------------------------------------------------

    def fault(self, event: Fault) -> None:
        """Accesses out of bounds or misaligned."""
        self.strays.accessed(event, True)
        address = np.broadcast_to(event.address, event.mask.shape)
        if event.exited is not None:
            self.gone(event, event.exited, address)
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
            at = int(address[b, t])
            home = nearest(homes, at)
            name, text = self.words.locate(event.space, at)
            how = f"where there is no allocation: address {at:#x}"
            if kind == "misaligned":
                how = f"which is not a multiple of {event.align} bytes"
            elif home is not None:
                how = distance(home, at, name)
            if event.where:
                text, how = name, event.where
            sites = event.instruction, self.thread(b, t), text
            said = f"{sites[1]} {VERBS[event.kind]} {event.width} bytes at {text} in {event.space}"
            said += f" memory, {how}"
            self.findings.report(kind, said, *sites, count=wrong.sum(), what=name)

    def gone(self, event: Fault, exited: Ints, address: Ints) -> None:
        """Blocks have exited whose shared memory is accessed."""
        b, t = np.argwhere(exited)[0]
        row = np.broadcast_to(event.rows if event.rows is not None else b, address.shape)[b, t]
        record = self.stamp(event.instruction, event.kind, np.zeros(1, np.int64))[0]
        self.visited(row, b, t, record, address[b, t], "has exited", int(exited.sum()))
