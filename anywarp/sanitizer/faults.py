"""The sanitizer's ear: hears the events of a tolerant run and collects findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..analysis.warps import LANES, Ints
from ..ptx.machine.registers import RESERVED
from ..ptx.memory import events
from ..ptx.memory.events import Access, Executed, Heaped, Launched
from ..ptx.text import isa
from ..ptx.text.syntax import TYPE_BYTES, Entry
from .asynchronous import Asynchronous
from .cluster_faults import Meetings, Visits
from .convergence import Convergence
from .fences import Fences
from .findings import Findings, Words, allocation_of
from .happens_before import Order
from .mbarrier_faults import MemoryBarriers
from .overlaps import BARRIERS, WARPGROUPS
from .shadow import Lanes, Records, Shadow
from .static_facts import facts_of, instructions_of
from .undefined import Strays
from .warpgroup_faults import Registers

STRONG = {"relaxed", "acquire", "release", "acq_rel"}


class Checker(Asynchronous):
    """The sink of a tolerant run: `run(…, sink=Checker(args, {}, source), tolerant=True)`;
    then `findings`."""

    def __init__(
        self, args: Sequence[Any], unwritten: dict[int, np.ndarray | None], source: str
    ) -> None:
        self.args, self.unwritten, self.source = args, unwritten, source
        self.findings = Findings()
        self.blocks = np.zeros(0, np.int64)
        self.stamps = [(None, "")]
        self.flights, self.barriers_of = {}, {}
        self.heard: dict[type, Callable[[Any], None]] = {
            events.Launched: self.launched,
            events.Access: self.access,
            events.Fault: self.fault,
            events.Landed: self.landed,
            events.Started: self.started,
            events.Finished: self.finished,
            events.MemoryBarrier: lambda event: self.barriers.hear(event),
            events.Barrier: self.barrier,
            events.Arrived: self.arrived,
            events.WarpSync: self.warp_sync,
            events.Fenced: self.fenced,
            events.Executed: self.executed,
            events.Chosen: lambda event: self.strays.chosen(event),
            events.Heaped: self.heaped,
            events.ClusterBarrier: self.cluster_barrier,
            events.Passed: lambda event: self.strays.passed(event, self.shadows["local"]),
        }

    def __call__(self, event: Any) -> None:
        hear = self.heard.get(type(event))
        if hear is None:
            return
        if not isinstance(event, events.Launched) and event.blocks is not self.blocks:
            self.begin_chunk(event.blocks)
        hear(event)

    # -- a launch, and its chunks of blocks -----------------------------------------------

    def launched(self, event: Launched) -> None:
        """Comes first."""
        self.launch = event
        self.threads = int(np.prod(event.block))
        self.records = Records(int(np.prod(event.grid)), self.threads)
        opcodes = {(i.opcode, *i.modifiers[:2]) for i in instructions_of(event.entry)}
        self.multiplies = any(words[0] == "wgmma" for words in opcodes)
        if self.multiplies:
            self.heard[events.Guarded] = lambda event: self.registers.guarded(event)
        self.proxies = any(uses_proxy(*words) for words in opcodes)
        self.copies = self.proxies or any(words[:2] == ("cp", "async") for words in opcodes)
        self.grain = cell_bytes(event.entry)
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
        self.fences = Fences()
        self.meetings = self.visits = None

    def tell_written(self) -> None:
        """Bring up to date what is known of arrays that were not written."""
        for n, written in self.unwritten.items():
            if written is not None:
                written[:] = self.shadows["global"].filled_bytes(self.homes[n])

    def shadow(self, space: str, rows: int, group: int, flights: bool) -> Shadow:
        """The shadow of a space, with so many copies of its allocations."""
        least = self.launch.heap if space == "global" else 0
        size = max((least, *(a.end for a in self.launch.allocations[space])))
        return Shadow(self.records, rows, size, self.grain, group, flights)

    def begin_chunk(self, blocks: Ints) -> None:
        """The first event of a chunk of blocks has come."""
        self.end_visits()
        self.blocks = blocks
        self.shape = len(blocks), self.threads
        columns = BARRIERS + WARPGROUPS if self.proxies else 0
        self.order = Order(len(blocks), self.records.padded, self.now(), columns)
        if self.together > 1:
            grid = int(np.prod(self.launch.grid))
            self.meetings = Meetings(self.order, blocks, self.together, grid)
            self.visits = Visits((len(blocks), self.records.padded), self.together)
        count = len(blocks)
        self.shadows["shared"] = self.shadow("shared", count, LANES, self.copies)
        self.shadows["local"] = self.shadow("local", count * self.threads, 0, False)
        for space in ("shared", "local"):
            # what is reserved, cooperative groups read before they write it; arguments are passed
            there = self.launch.allocations["arguments"]
            homes = (a for a in self.launch.allocations[space] if a.name != RESERVED)
            self.shadows[space].empty(a for a in homes if a not in there)
        self.shadows["arguments"] = self.shadows["local"]
        if self.proxies:
            self.shadows["shared"].watch_proxy()
        new = MemoryBarriers(blocks, self)
        self.barriers = self.barriers_of.setdefault(int(blocks[0]), new)
        if self.multiplies:
            self.registers = Registers(self)
        self.convergence.begin_chunk(blocks, self.threads)
        self.strays = Strays(self.facts, self.undefined)
        self.fences.begin_chunk(self.order, blocks)

    def executed(self, event: Executed) -> None:
        """A straight run of instructions."""
        self.convergence.executed(event)
        self.strays.begin(event)
        if self.multiplies:
            self.registers.executed(event)

    def heaped(self, event: Heaped) -> None:
        """What malloc gives, nobody has written; what free takes back, nobody has touched."""
        shadow = self.shadows["global"]
        if event.freed:
            shadow.catch_up("global")
            shadow.wipe(event.home)
        else:
            shadow.empty([event.home])
            self.words.heap.append(event.home)

    # -- accesses ---------------------------------------------------------------------------

    def access(self, event: Access) -> None:
        """A load, store or atomic operation."""
        self.strays.accessed(event, event.space in self.shadows)
        if event.space not in self.shadows:
            return
        shadow = self.shadows[event.space]
        if event.mask is not None and not event.mask.any():
            return
        if event.space in ("local", "arguments"):
            self.private(event, shadow)
            return
        strong = is_strong(event) or id(event.instruction) in self.facts.guesses
        where = shadow.stretches(event)
        since = self.horizon() if event.space == "shared" else 0
        if event.kind == "load":
            plain = not strong and event.rows is None
            if plain and shadow.is_calm(where, since) and shadow.is_filled(where):
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
            self.issue(lanes)
        elif event.kind == "store":
            self.write(lanes, strong)
        else:
            self.read(lanes, strong)
        if strong:
            cell = lanes.cell[:: lanes.per_lane]
            self.fences.meet(event, event.space, cell, *lanes.who, self.now())


def uses_proxy(opcode: str, *words: str) -> bool:
    """Whether an instruction has to do with what `asynchronous` follows, cp.async apart."""
    bulk = not {"bulk", "reduce", "mbarrier"}.isdisjoint(words)
    return opcode in ("wgmma", "mbarrier") or (opcode in ("cp", "st", "red") and bulk)


def cell_bytes(entry: Entry) -> int:
    """The cell size, bytes: the smallest element that the entry loads or stores, at most 4."""
    reaching = ("ld", "ldu", "st", "atom", "red", "suld", "sust")
    code = (i for i in instructions_of(entry) if i.opcode in reaching and isa.space(i) != "param")
    words = (word for i in code for word in i.modifiers[-2:] if word in TYPE_BYTES)
    return min([4, *(TYPE_BYTES[word] for word in words)])


def is_strong(event: Access) -> bool:
    """Whether an access may meet others of its kind without a race."""
    words = {*event.instruction.modifiers}
    volatile = "volatile" in words and event.space == "global"
    return event.kind == "atomic" or volatile or not STRONG.isdisjoint(words)
