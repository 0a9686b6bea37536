"""The sanitizer's ear: hears the events of a tolerant run and collects findings."""

from __future__ import annotations

import numpy as np

from ..ptx.memory import events
from ..ptx.text import isa
from ..ptx.text.syntax import TYPE_BYTES
from .asynchronous import Asynchronous
from .cluster_faults import Meetings, Visits
from .convergence import Convergence
from .fences import Fences, used_by
from .findings import Finding, Findings, Words, allocation_of, place
from .happens_before import Order
from .overlaps import BARRIERS, WARPGROUPS
from .shadow import LANES, Lanes, Latest, Records, Shadow
from .static_facts import facts_of, instructions_of
from .undefined import Padding, Strays, used_cells
from .waits import Waits
from .warpgroup_faults import Registers, finding

STRONG = {"relaxed", "acquire", "release", "acq_rel"}


class Checker(Asynchronous, Waits):
    """The sink of a tolerant run: `run(…, sink=Checker(args, {}, source), tolerant=True)`;
    then `findings`."""

    def __init__(self, args, unwritten: dict[int, np.ndarray | None], source: str):
        self.args, self.unwritten, self.source = args, unwritten, source
        self.findings = Findings()
        self.blocks = None
        self.stamps = [None]  # stamp -> (instruction, kind)
        self.flights: dict = {}  # first ticket -> Flight
        self.objects_of: dict = {}  # first block of a chunk -> its memory barriers
        self.heard = {
            events.Launched: self.launched,
            events.Access: self.access,
            events.Fault: self.fault,
            events.Landed: self.landed,
            events.Started: self.started,
            events.Finished: self.finished,
            events.MemoryBarrier: lambda event: self.objects.hear(event),
            events.Barrier: self.barrier,
            events.Arrived: self.arrived,
            events.WarpSync: self.warp_sync,
            events.Fenced: self.fenced,
            events.Executed: self.executed,
            events.Heaped: self.heaped,
            events.ClusterBarrier: self.cluster_barrier,
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
        opcodes = {(i.opcode, *i.modifiers[:2]) for i in instructions_of(event.entry)}
        self.multiplies = any(words[0] == "wgmma" for words in opcodes)
        if self.multiplies:
            self.heard[events.Guarded] = lambda event: self.registers.guarded(event)
        self.proxies = any(uses_proxy(*words) for words in opcodes)
        self.copies = self.proxies or any(words[:2] == ("cp", "async") for words in opcodes)
        self.grain = grain(event.entry)
        self.facts = facts_of(event.entry)
        self.words = Words(event, self.args, self.source)
        self.convergence = Convergence(event, self.words, self.findings)
        shadow = self.shadow("global", 1, self.records.padded, False)
        homes = event.allocations["global"]
        if self.unwritten:
            self.homes = {n: allocation_of(n, self.args, homes) for n in self.unwritten}
            shadow.empty(self.homes.values())
            for n, written in self.unwritten.items():
                if written is not None:
                    shadow.fill(self.homes[n], written)
        self.shadows = {"global": shadow}
        self.together = int(np.prod(event.cluster))  # blocks of a cluster
        self.fences = Fences() if used_by(event.entry) or self.together > 1 else None
        self.meetings = self.visits = None

    def tell_written(self) -> None:
        """Bring up to date what is known of arrays that were not written."""
        for n, written in self.unwritten.items():
            if written is not None:
                written[:] = self.shadows["global"].filled_bytes(self.homes[n])

    def shadow(self, space: str, rows: int, group: int, flights: bool) -> Shadow:
        allocations = self.launch.allocations[space]
        size = max((a.end for a in allocations), default=0)
        if space == "global":
            size = max(size, self.launch.heap)
        return Shadow(self.records, rows, size, self.grain, group, flights)

    def begin_chunk(self, blocks) -> None:
        self.end_visits()
        self.blocks = blocks
        self.shape = len(blocks), self.threads
        columns = BARRIERS + WARPGROUPS if self.proxies else 0
        self.order = Order(len(blocks), self.records.padded, self.now(), columns)
        if self.together > 1:
            grid = int(np.prod(self.launch.grid))
            self.meetings = Meetings(self.order, blocks, self.together, grid)
            self.visits = Visits((len(blocks), self.records.padded), self.together)
        for space, rows, group, flights in (
            ("shared", len(blocks), LANES, self.copies),
            ("local", len(blocks) * self.threads, 0, False),
        ):
            self.shadows[space] = self.shadow(space, rows, group, flights)
            self.shadows[space].empty(self.launch.allocations[space])
        if self.proxies:
            self.shadows["shared"].watch_proxy()
        self.begin_flights(blocks)
        if self.multiplies:
            tell = lambda *what: self.findings.add(finding(self.words, blocks, *what))
            self.registers = Registers(self.launch.entry, self.shape, tell)
        self.convergence.begin_chunk(blocks, self.threads)
        self.padding, self.strays = Padding(self.facts, self.grain), Strays(self.facts)
        if self.fences:
            self.fences.begin_chunk(self.order, blocks)

    def now(self) -> int:
        """The latest stamp."""
        return len(self.stamps) - 1

    def executed(self, event) -> None:
        self.convergence.executed(event)
        self.strays.begin(event)
        if self.multiplies:
            self.registers.executed(event)

    def heaped(self, event) -> None:
        """What malloc gives, nobody has written; what free takes back, nobody has touched."""
        shadow = self.shadows["global"]
        if event.freed:
            shadow.catch_up("global")
            shadow.wipe(event.home)
        else:
            shadow.empty([event.home])
            self.words.heap.append(event.home)

    # -- accesses ---------------------------------------------------------------------------

    def access(self, event) -> None:
        if event.space not in self.shadows:
            return
        shadow = self.shadows[event.space]
        if event.mask is not None and not event.mask.any():
            return
        self.stray(event)
        if event.space == "local":
            self.private(event, shadow)
            return
        strong = is_strong(event) or id(event.instruction) in self.facts.guesses
        where = shadow.stretches(event)
        since = self.horizon() if event.space == "shared" else 0
        if event.kind == "load":
            calm = (
                not strong
                and event.rows is None
                and shadow.is_calm(where, since)
                and shadow.is_filled(where)
            )
            if calm and not self.padding.cells:
                self.stamps.append((event.instruction, "load"))
                shadow.put_off_read(event, where, self.now())
                return
            shadow.catch_up(event.space)
        else:
            if (shadow.read_mark[where] > since).any():
                shadow.catch_up(event.space)
            shadow.write_mark[where] = len(self.stamps)  # the stamp that it will have
        lanes = Lanes(event, shadow, event.space)
        if event.rows is not None:
            self.visit(event, lanes.row, lanes.block, lanes.thread, lanes.address)
        if event.kind != "load" and event.instruction.opcode == "cp":
            self.issue(event, shadow, lanes)
        elif event.kind == "store":
            self.write(event, shadow, lanes, strong)
        else:
            self.read(event, shadow, lanes, strong)
        if strong and self.fences:
            one = slice(None, None, lanes.per_lane)
            cell, block, thread = lanes.cell[one], lanes.block[one], lanes.thread[one]
            self.fences.meet(event, event.space, cell, block, thread, self.now())

    def private(self, event, shadow) -> None:
        if event.kind == "load" and not self.padding.cells:
            if shadow.is_filled(shadow.stretches(event)):
                return
        lanes = Lanes(event, shadow, event.space)
        if event.kind != "store":
            self.unfilled(event, shadow, lanes, np.zeros(lanes.cell.size, bool))
        if event.kind != "load":
            self.fill(event, shadow, lanes)

    def fill(self, event, shadow, lanes) -> None:
        """A store, or an atomic operation, fills cells, unless with what nobody has written."""
        if shadow.filled is not None:
            filled = self.padding.stored(event, lanes)
            shadow.filled[lanes.cell] = filled
            if not filled.all():
                shadow.full[:] = False

    def stamp(self, instruction, kind: str, lanes):
        """The records of a new stamp."""
        self.stamps.append((instruction, kind))
        return self.records.pack(self.now(), lanes.me)

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
            self.fill(event, shadow, lanes)

    def write(self, event, shadow, lanes, strong: bool) -> None:
        record = self.stamp(event.instruction, event.kind, lanes)
        early = self.in_flight(event, shadow, lanes)
        value = lanes.values(event, shadow.grain)
        self.conflict(
            event, shadow, lanes, shadow.written, early | (value == shadow.value[lanes.cell])
        )
        self.conflicts(event, shadow, lanes, shadow.readers, early)
        self.fill(event, shadow, lanes)
        shadow.supersede(lanes.cell)
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

    # -- what is wrong ----------------------------------------------------------------------

    def unfilled(self, event, shadow, lanes, early) -> None:
        """A load of what nobody has written: at fault where it is used for more than a copy,
        and where no part of what a lane loads has been written."""
        if shadow.filled is None:
            return
        undefined = ~(shadow.filled[lanes.cell] | early)
        self.padding.loaded(event, lanes, undefined)
        if not undefined.any():
            return
        by_lane = undefined.reshape(-1, lanes.per_lane)
        used = used_cells(event.instruction, self.facts, event.width, self.grain)
        where = np.flatnonzero(by_lane & (used | by_lane.all(1)[:, None]))
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
        for table in latest.columns:
            strong = latest is shadow.strong
            skip = skip | self.conflict(event, shadow, lanes, table, skip, strong)

    def conflict(self, event, shadow, lanes, table, skip, strong: bool = False):
        """Races with the records in the table (of strong accesses), but where `skip` is true.
        Returns where."""
        record = table[lanes.cell]
        found = np.zeros(record.size, bool)
        if event.space == "shared" and self.meetings is None:  # rows belong to one block
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
        known = np.where(same, known, 0)
        if self.fences and not same.all():
            far = np.flatnonzero(~same)
            where = lanes.block[at][far], lanes.thread[at][far], other[far]
            known[far] = self.known_of_blocks(*where, strong)
        at = at[stamp > known]
        if at.size:
            found[at] = True
            self.race(event, lanes, at, record[at])
        return found


# -- of a launch ------------------------------------------------------------------------------


def uses_proxy(opcode: str, *words: str) -> bool:
    """Whether an instruction has to do with what `asynchronous` follows, cp.async apart."""
    return opcode in ("wgmma", "mbarrier") or (
        opcode in ("cp", "st", "red") and bool({"bulk", "reduce", "mbarrier"} & set(words))
    )


def grain(entry) -> int:
    """The cell size, bytes: the smallest element that the entry loads or stores, at most 4."""
    sizes = [
        TYPE_BYTES[i.modifiers[-1]]
        for i in instructions_of(entry)
        if i.opcode in ("ld", "ldu", "st", "atom", "red")
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
