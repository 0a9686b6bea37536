"""The sanitizer's ear: hears the events of a tolerant run and collects findings."""

from __future__ import annotations

import numpy as np

from ..ptx import events, isa
from ..ptx.memory import distance, nearest
from ..ptx.syntax import TYPE_BYTES, Position
from .findings import Finding, Findings, Words, allocation_of
from .order import Fences, Order
from .shadow import LANES, Lanes, Latest, Records, Shadow

STRONG = {"relaxed", "acquire", "release", "acq_rel"}
VERBS = {"load": "reads", "store": "writes", "atomic": "updates"}


class Checker:
    """The sink of a tolerant run: `run(…, sink=Checker(args, set(), source), tolerant=True)`;
    then `findings`."""

    def __init__(self, args, unwritten: set[int], source: str):
        self.args, self.unwritten, self.source = args, unwritten, source
        self.findings = Findings()
        self.blocks = None
        self.stamps = [None]  # stamp -> (instruction, kind)
        self.heard = {
            events.Launched: self.launched,
            events.Access: self.access,
            events.Fault: self.fault,
            events.Landed: self.landed,
            events.Barrier: self.barrier,
            events.Arrived: self.arrived,
            events.WarpSync: self.warp_sync,
        }

    def __call__(self, event) -> None:
        hear = self.heard.get(type(event))
        if hear is None:
            return
        if not isinstance(event, events.Launched) and event.blocks is not self.blocks:
            self.begin_chunk(event.blocks)
        hear(event)

    # -- a launch, and its chunks of blocks -----------------------------------------------

    def launched(self, event) -> None:
        self.launch = event
        x, y, z = event.block
        self.threads = x * y * z
        self.records = Records(int(np.prod(event.grid)), self.threads)
        opcodes = {(i.opcode, *i.modifiers[:1]) for i in event.entry.instructions}
        self.flights = ("cp", "async") in opcodes
        self.grain = grain(event.entry)
        self.sizes = {
            space: max((a.end for a in allocations), default=0)
            for space, allocations in event.allocations.items()
        }
        self.words = Words(event, self.args, self.source)
        shadow = Shadow(
            self.records, 1, self.sizes["global"], self.grain, self.records.padded, False
        )
        if self.unwritten:
            shadow.filled[:] = True
            for n in self.unwritten:
                home = allocation_of(n, self.args, event.allocations["global"])
                shadow.filled[home.start // self.grain : -(-home.end // self.grain)] = False
        else:
            shadow.filled = None
        self.shadows = {"global": shadow}
        self.fences = Fences(event) if {"membar", "fence"} & {o for o, *_ in opcodes} else None

    def begin_chunk(self, blocks) -> None:
        self.blocks = blocks
        self.order = Order(len(blocks), self.records.padded, len(self.stamps) - 1)
        self.shadows["shared"] = Shadow(
            self.records, len(blocks), self.sizes["shared"], self.grain, LANES, self.flights
        )
        self.shadows["local"] = Shadow(
            self.records, len(blocks) * self.threads, self.sizes["local"], self.grain, 0, False
        )

    # -- accesses ---------------------------------------------------------------------------

    def access(self, event) -> None:
        if event.space not in self.shadows:
            return
        shadow = self.shadows[event.space]
        lanes = Lanes(event, shadow, event.space)
        if lanes.cell.size == 0:
            return
        if event.space == "local":
            self.private(event, shadow, lanes)
            return
        lanes.me = self.blocks[lanes.block] * self.records.padded + lanes.thread
        strong = is_strong(event)
        if event.kind != "load" and event.instruction.opcode == "cp":
            self.issue(event, shadow, lanes)
        elif event.kind == "store":
            self.write(event, shadow, lanes, strong)
        else:
            self.read(event, shadow, lanes, strong)
        if strong and self.fences and event.space == "global":
            self.fences.meet(event, lanes, self.blocks, len(self.stamps) - 1)

    def private(self, event, shadow, lanes) -> None:
        if event.kind != "store":
            self.unfilled(event, shadow, lanes, np.zeros(lanes.cell.size, bool))
        if event.kind != "load":
            shadow.filled[lanes.cell] = True

    def stamp(self, instruction, kind: str, lanes):
        """The records of a new stamp."""
        self.stamps.append((instruction, kind))
        return self.records.pack(len(self.stamps) - 1, lanes.me)

    def read(self, event, shadow, lanes, strong: bool) -> None:
        """A load, or an atomic operation, which also writes."""
        record = self.stamp(event.instruction, event.kind, lanes)
        early = self.in_flight(event, shadow, lanes)
        self.unfilled(event, shadow, lanes, early)
        self.conflict(event, shadow, lanes, shadow.written, early)
        if event.kind == "load":
            if not strong:
                self.conflicts(event, shadow, lanes, shadow.strong, early)
            (shadow.strong_readers if strong else shadow.readers).add(lanes.cell, record)
        else:
            self.conflicts(event, shadow, lanes, shadow.readers, early)
            shadow.strong.add(lanes.cell, record)
            if shadow.filled is not None:
                shadow.filled[lanes.cell] = True

    def write(self, event, shadow, lanes, strong: bool) -> None:
        record = self.stamp(event.instruction, event.kind, lanes)
        early = self.in_flight(event, shadow, lanes)
        value = lanes.values(event, shadow.grain)
        self.conflict(
            event, shadow, lanes, shadow.written, early | (value == shadow.value[lanes.cell])
        )
        self.conflicts(event, shadow, lanes, shadow.readers, early)
        if shadow.filled is not None:
            shadow.filled[lanes.cell] = True
        shadow.value[lanes.cell] = value
        if strong:
            shadow.strong.add(lanes.cell, record)
            return
        self.conflicts(event, shadow, lanes, shadow.strong, early)
        self.conflicts(event, shadow, lanes, shadow.strong_readers, early)
        shadow.written[lanes.cell] = record
        self.collision(event, shadow.written, lanes, record, value == shadow.value[lanes.cell])

    def collision(self, event, table, lanes, record, benign) -> None:
        """Several lanes of one instruction write to one cell."""
        top = table[lanes.cell]
        lost = np.flatnonzero((top != record) & ~benign)
        if lost.size:
            self.race(event, lanes, lost, top[lost])

    # -- asynchronous copies ----------------------------------------------------------------

    def issue(self, event, shadow, lanes) -> None:
        """cp.async begins to write; it ends at a wait of the same thread."""
        record = self.stamp(event.instruction, "store", lanes)
        early = self.in_flight(event, shadow, lanes)
        self.conflict(event, shadow, lanes, shadow.written, early)
        for latest in (shadow.readers, shadow.strong, shadow.strong_readers):
            self.conflicts(event, shadow, lanes, latest, early)
        shadow.flying[lanes.cell] = record
        self.collision(event, shadow.flying, lanes, record, np.zeros(record.size, bool))

    def landed(self, event) -> None:
        shadow = self.shadows["shared"]
        lanes = Lanes(event, shadow, "shared")
        lanes.me = self.blocks[lanes.block] * self.records.padded + lanes.thread
        record = self.stamp(event.instruction, "store", lanes)
        mine = self.records.thread(shadow.flying[lanes.cell]) == lanes.me
        shadow.flying[lanes.cell[mine]] = 0
        shadow.written[lanes.cell] = record
        shadow.filled[lanes.cell] = True

    def in_flight(self, event, shadow, lanes):
        """Where a copy has not landed yet: a finding, and true in the array that comes back."""
        if shadow.flying is None:
            return np.zeros(lanes.cell.size, bool)
        record = shadow.flying[lanes.cell]
        early = record > 0
        where = np.flatnonzero(early)
        for at, other in self.each_place(where, record[where]):
            self.two(
                event,
                lanes,
                at,
                other,
                "asynchronous copy",
                f"{{thread}} {VERBS[event.kind]} {{address}}, to which {{them}} has a copy "
                "under way since {there} and has not waited for it",
            )
        return early

    # -- what is wrong ----------------------------------------------------------------------

    def unfilled(self, event, shadow, lanes, early) -> None:
        if shadow.filled is None:
            return
        where = np.flatnonzero(~(shadow.filled[lanes.cell] | early))
        if where.size:
            at = where[0]
            name, address = self.words.locate(event.space, lanes.address[at])
            thread = self.words.thread(self.blocks[lanes.block[at]], lanes.thread[at])
            self.findings.add(
                Finding(
                    "uninitialised",
                    f"{thread} reads {address} in {event.space} memory, which nobody has written",
                    place(event.instruction),
                    thread,
                    address,
                    count=where.size,
                ),
                name,
            )

    def conflicts(self, event, shadow, lanes, latest: Latest, skip) -> None:
        if not latest.used:
            return
        for table in latest.columns():
            skip = skip | self.conflict(event, shadow, lanes, table, skip)

    def conflict(self, event, shadow, lanes, table, skip):
        """Races with the records in the table, but where `skip` is true. Returns where."""
        record = table[lanes.cell]
        found = np.zeros(record.size, bool)
        if event.space == "shared":  # rows belong to one block
            at = np.flatnonzero(self.records.stamp(record) > self.order.base[lanes.block])
        else:
            at = np.flatnonzero(record)
        if at.size == 0:
            return found
        other = self.records.thread(record[at])
        at = at[(other != lanes.me[at]) & ~skip[at]]
        if at.size == 0:
            return found
        other, stamp = self.records.thread(record[at]), self.records.stamp(record[at])
        padded = self.records.padded
        same = other // padded == self.blocks[lanes.block[at]]
        known = self.order.knows(lanes.block[at], lanes.thread[at], other % padded)
        if self.fences:
            known = np.where(
                same, known, self.fences.known(lanes.me[at] // padded, other // padded)
            )
        else:
            known = np.where(same, known, 0)
        at = at[stamp > known]
        if at.size:
            found[at] = True
            self.race(event, lanes, at, record[at])
        return found

    def race(self, event, lanes, where, records) -> None:
        for at, other in self.each_place(where, records):
            verb, (_, kind) = VERBS[event.kind], self.stamps[self.records.stamp(other)]
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
                "-".join(sorted((VERBS[kind], verb))),
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

    # -- barriers ---------------------------------------------------------------------------

    def padded(self, mask):
        """A mask of the event's threads with the padding of the last warp: (B, padded)."""
        full = np.zeros((len(self.blocks), self.records.padded), bool)
        full[:, : self.threads] = True if mask is None else mask
        return full

    def barrier(self, event) -> None:
        now = len(self.stamps) - 1
        mask = np.broadcast_to(
            True if event.mask is None else event.mask, (len(self.blocks), self.threads)
        )
        going = mask.any(1)
        if event.count is not None and not mask[going].all():  # the others may have arrived
            self.order.some_wait(event.number, self.padded(mask), now)
            return
        self.order.all_wait(going, now)
        self.divergence(event, mask, going)

    def divergence(self, event, mask, going) -> None:
        missing = ~mask & going[:, None]
        if missing.any():
            b, t = np.argwhere(missing)[0]
            self.astray(
                event.instruction,
                b,
                int(np.argmax(mask[b])),
                t,
                None,
                f"{int(mask[b].sum())} of {self.threads} threads of the block wait at the "
                "barrier, {them} among the others has exited without reaching it",
                int(missing.any(1).sum()),
            )
        if len(event.waited) > 1:
            counts = np.stack([where.sum(1) for _, where in event.waited])
            for b in np.flatnonzero((counts > 0).sum(0) > 1)[:1]:
                here, there = np.flatnonzero(counts[:, b])[:2]
                (instruction, one), (other, two) = event.waited[here], event.waited[there]
                self.astray(
                    instruction,
                    b,
                    int(np.argmax(one[b])),
                    int(np.argmax(two[b])),
                    other,
                    f"{int(one[b].sum())} of {self.threads} threads of the block wait "
                    f"here, {{them}} among the others at {place(other)}",
                    int(((counts > 0).sum(0) > 1).sum()),
                )

    def astray(self, instruction, b, t, other_t, other, sentence: str, count: int) -> None:
        thread = self.words.thread(self.blocks[b], t)
        them = self.words.thread(self.blocks[b], other_t)
        self.findings.add(
            Finding(
                "barrier",
                sentence.format(them=them),
                place(instruction),
                thread,
                None,
                other and place(other),
                them,
                count,
            )
        )

    def arrived(self, event) -> None:
        self.order.arrive(event.number, self.padded(event.mask), len(self.stamps) - 1)

    def warp_sync(self, event) -> None:
        members = np.zeros((len(self.blocks), self.records.padded), np.uint32)
        members[:, : self.threads] = event.members
        self.order.lanes_wait(members, self.padded(event.mask), len(self.stamps) - 1)


# -- of a launch ------------------------------------------------------------------------------


def grain(entry) -> int:
    """The cell size, bytes: the smallest element that the entry loads or stores, at most 4."""
    sizes = [
        TYPE_BYTES[i.modifiers[-1]]
        for i in entry.instructions
        if isa.lookup(i).memory in ("load", "store", "atomic")
        and isa.space(i) != "param"
        and i.modifiers[-1] in TYPE_BYTES
    ]
    return min([4, *sizes])


def is_strong(event) -> bool:
    words = set(event.instruction.modifiers)
    return bool(
        event.kind == "atomic"
        or words & STRONG
        or ("volatile" in words and event.space == "global")
    )


def place(instruction) -> Position:
    return instruction.position or Position("PTX", instruction.line)
