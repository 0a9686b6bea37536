"""What runs on its own: copies, and the products of warpgroups, from when they are issued to when
somebody has waited for them.

A cell of shared memory tells four things of them: the copy that is under way to it (`flying`), the
one that has landed in it (`copied`, with the `barrier` that it reported to: the block that has it,
times BARRIERS, and its column of `Order`), the one that is under way from it (`lent`), and the
warpgroups that multiply with it (`factors`). Who touches it then must know, by waiting or by being
told, that they are done.

Ordinary stores and the asynchronous proxy, which bulk copies and wgmma belong to, see each
other's bytes only across a fence.proxy.async of the thread that stored (PTX ISA, chapter 8.6,
proxies). Two things are let pass, as they are in CUTLASS: a copy to where others have read or
written, once they are ordered before it; and wgmma with what cp.async has copied.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ..analysis.warps import LANES, Ints, whole_mask
from ..ptx.memory.events import Finished, Landed, Started, Stretches
from ..ptx.text.syntax import Instruction
from .mbarrier_faults import MemoryBarriers
from .overlaps import BARRIERS, WARPGROUP, Overlaps
from .reports import Issued, adds
from .shadow import Lanes, Shadow, Touched


class Cells(Touched):
    """The cells of stretches, of what reads ("load") or writes ("store") them, as done by the
    threads that issued it."""

    def __init__(self, event: Started, kind: str, stretches: Stretches, shadow: Shadow) -> None:
        self.event = Issued(event.instruction, kind, stretches.space, shadow.grain)
        self.shadow = shadow
        first = stretches.start // shadow.grain
        count = (stretches.start + stretches.size - 1) // shadow.grain - first + 1
        count = count.astype(np.intp)
        ends = np.cumsum(count)
        step = np.arange(ends[-1] if ends.size else 0) - np.repeat(ends - count, count)
        cell = np.repeat(first, count) + step
        inside = (cell >= 0) & (cell < shadow.cells)  # what is not there is told of as a Fault
        self.operation = np.repeat(stretches.operation, count)[inside]
        self.address = cell[inside] * shadow.grain
        self.cell = cell[inside]
        self.block = event.block[self.operation]
        self.row = self.block
        if stretches.space == "shared":
            self.row = np.repeat(stretches.row, count)[inside]
            self.cell += self.row * shadow.cells
        self.thread = event.thread[self.operation]
        self.me = event.blocks[self.block] * shadow.records.padded + self.thread

    def by(self, shift: int) -> Cells:
        """The same, as done by the threads that come so many later in the block."""
        result = copy.copy(self)
        result.thread, result.me = self.thread + shift, self.me + shift
        return result


@dataclass(eq=False)
class Flight:
    """The N operations of a Started event. `parts`: (space, kind, operation, cell, record) of the
    cells that they touch."""

    event: Started
    base: np.ndarray  # the stamp of the last barrier of the block before
    stamp: int  # of the last of its accesses
    left: np.ndarray
    parts: list[tuple[str, str, np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)

    @property
    def instruction(self) -> Instruction:
        """What has issued them."""
        return self.event.instruction

    def part(self, kind: str, numbers: Ints | list[int]) -> Iterator[tuple[Ints, Ints, Ints]]:
        """(operation, cell, record) of what these operations do in shared memory."""
        chosen = np.zeros(len(self.event.ticket), bool)
        chosen[numbers] = True
        for space, what, operation, cell, record in self.parts:
            if space == "shared" and what == kind:
                these = chosen[operation]
                yield operation[these], cell[these], record[these]


class Asynchronous(Overlaps):
    """The part of the sanitizer's ear that hears of them."""

    flights: dict[int, Flight]  # by first ticket
    barriers_of: dict[int, MemoryBarriers]  # by the first block of a chunk

    # -- cp.async ---------------------------------------------------------------------------

    def issue(self, lanes: Lanes) -> None:
        """cp.async begins to write; it ends at a wait of the same thread."""
        shadow = lanes.shadow
        record = self.stamp(lanes.event.instruction, "store", lanes.me)
        early = self.in_flight(lanes)
        self.conflict(lanes, shadow.written, early)
        self.conflicts(lanes, early, shadow.readers, shadow.strong, shadow.strong_readers)
        shadow.flying[lanes.cell] = record
        self.collision(lanes, shadow.flying, record, np.zeros(record.size, bool))

    def landed(self, event: Landed) -> None:
        """cp.async has written, and the thread that issued it has waited."""
        shadow = self.shadows["shared"]
        lanes = Lanes(event, shadow, "shared")
        shadow.catch_up("shared")
        shadow.write_mark[shadow.stretches(event)] = len(self.stamps)
        record = self.stamp(event.instruction, "store", lanes.me)
        mine = self.records.thread(shadow.flying[lanes.cell]) == lanes.me
        shadow.flying[lanes.cell[mine]] = 0
        shadow.written[lanes.cell] = record
        shadow.filled[lanes.cell] = True
        shadow.supersede(lanes.cell)

    # -- the asynchronous proxy -------------------------------------------------------------

    def started(self, event: Started) -> None:
        """Bulk copies, or products of warpgroups, have been issued."""
        base, left = self.order.base[event.block], np.ones(len(event.ticket), bool)
        flight = Flight(event, base, len(self.stamps), left)
        self.flights[int(event.ticket[0])] = flight
        for stretches in event.writes:
            if stretches.space == "shared":
                block, thread = (x[stretches.operation] for x in (event.block, event.thread))
                self.visit(event, stretches.row, block, thread, stretches.start, ends=True)
        for kind, every in (("load", event.reads), ("store", event.writes)):
            for stretches in every:
                shadow = self.shadows[stretches.space]
                shadow.catch_up(stretches.space)
                lanes = Cells(event, kind, stretches, shadow)
                if lanes.cell.size == 0:
                    continue
                record = self.stamp(event.instruction, kind, lanes.me)
                if event.product:
                    self.strays.grouped(event, shadow, lanes.cell)
                if kind == "load":
                    self.begin_reading(lanes, record)
                else:
                    self.begin_writing(lanes, record)
                flight.stamp = self.now()
                if event.instruction.opcode != "wgmma":  # whose cells are asked for no more
                    part = stretches.space, kind, lanes.operation, lanes.cell, record
                    flight.parts.append(part)

    def begin_reading(self, lanes: Cells, record: Ints) -> None:
        """They read cells from now on; the records are those of who issued them."""
        issued, shadow, actors = lanes.event, lanes.shadow, [lanes]
        if issued.instruction.opcode == "wgmma":  # the four warps, each by its first lane
            actors += [lanes.by(shift) for shift in range(LANES, WARPGROUP, LANES)]
        early = self.flying(lanes)
        for warp in actors:
            early |= self.unordered(warp, early)
        if issued.instruction.opcode != "wgmma":  # of which `undefined` asks
            self.unfilled(lanes, early)
        for warp in actors:
            bad = self.conflict(warp, shadow.written, early)
            self.conflicts(warp, early, shadow.strong)
            if issued.space == "shared":
                self.unfenced(warp, early | bad)
        if issued.space == "global":
            shadow.readers.add(lanes.cell, record)
        elif issued.instruction.opcode == "wgmma":
            shadow.factors.add(lanes.cell, record)
        else:
            shadow.lent[lanes.cell] = record

    def begin_writing(self, lanes: Cells, record: Ints) -> None:
        """They write to cells from now on."""
        issued, shadow = lanes.event, lanes.shadow
        early = self.in_flight(lanes)
        reduces = adds(issued.instruction)
        self.conflict(lanes, shadow.written, early)
        self.conflicts(lanes, early, shadow.readers, shadow.strong_readers)
        if not reduces:
            self.conflicts(lanes, early, shadow.strong)
        if issued.space == "global":
            self.fill(lanes)
            if reduces:
                shadow.strong.add(lanes.cell, record)
            else:
                shadow.written[lanes.cell] = record
                self.collision(lanes, shadow.written, record, early)
            where = slice(lanes.address.min(), lanes.address.max() + 1)
            shadow.write_mark[shadow.marks(where)] = self.records.stamp(record[0])
            return
        shadow.flying[lanes.cell] = record
        if not reduces:
            self.collision(lanes, shadow.flying, record, early)
        shadow.written[lanes.cell] = 0
        shadow.supersede(lanes.cell)

    def finished(self, event: Finished) -> None:
        """Operations are done, or their reading is."""
        first = np.array(list(self.flights))  # tickets are given in order
        which = np.searchsorted(first, event.ticket, "right") - 1
        for n in np.unique(which).tolist():
            these = np.flatnonzero(which == n)
            flight = self.flights[int(first[n])]
            numbers = event.ticket[these] - first[n]
            if event.row is not None and event.address is not None:
                self.reported(flight, numbers, event.row[these], event.address[these])
            elif flight.instruction.opcode == "wgmma":
                self.multiplied(event, flight, numbers)
            else:
                self.given_back(flight, numbers)
            if not event.reading_only:
                flight.left[numbers] = False
                if flight.parts and not flight.left.any():
                    del self.flights[int(first[n])]

    def reported(self, flight: Flight, numbers: Ints, row: Ints, address: Ints) -> None:
        """Copies have landed, and report to memory barriers."""
        shadow, slot = self.shadows["shared"], self.barriers.slots(address)
        self.barriers.check_report(flight, numbers, row, slot)
        barrier = np.zeros(len(flight.event.ticket), np.int64)
        barrier[numbers] = row * BARRIERS + slot % BARRIERS
        self.stamps.append((flight.instruction, "store"))
        for operation, cell, record in flight.part("store", numbers):
            ours = shadow.flying[cell] == record
            operation, cell, record = operation[ours], cell[ours], record[ours]
            shadow.flying[cell] = 0
            shadow.copied[cell] = self.records.pack(self.now(), self.records.thread(record))
            shadow.barrier[cell] = barrier[operation]
            shadow.filled[cell] = True
        for _, cell, record in flight.part("load", numbers):
            shadow.lent[cell[shadow.lent[cell] == record]] = 0
        self.order.report(row, slot, slot % BARRIERS, self.now())

    def multiplied(self, event: Finished, flight: Flight, numbers: Ints) -> None:
        """Threads have waited for products of their warpgroups. All four warps had come to where
        these were issued, and what they did before that is done."""
        block, first = flight.event.block[numbers], flight.event.thread[numbers]
        thread = first[:, None] + np.arange(WARPGROUP)
        mask = whole_mask(event.mask, self.shape)
        which, lane = np.nonzero(mask[block[:, None], thread])
        news = np.zeros((len(numbers), self.order.rows.shape[1]), np.int32)
        column = self.order.padded + BARRIERS + first // WARPGROUP
        np.put_along_axis(news, np.column_stack([column, thread]), flight.stamp, 1)
        self.order.learn("known", block[which], thread[which, lane], news, which)

    def given_back(self, flight: Flight, numbers: Ints) -> None:
        """Copies have read their source, and who issued them knows."""
        shadow = self.shadows["shared"]
        self.stamps.append((flight.instruction, "load"))
        for _, cell, record in flight.part("load", numbers):
            ours = shadow.lent[cell] == record
            cell, record = cell[ours], record[ours]
            shadow.lent[cell] = 0
            if cell.size:
                thread = self.records.thread(record)
                shadow.readers.add(cell, self.records.pack(self.now(), thread))

    # -- the end ----------------------------------------------------------------------------

    def end(self) -> None:
        """The kernel is over: copies that nobody has waited for, and bytes that nobody brought."""
        self.end_visits()
        self.strays.begin(None)
        left_behind: set[int] = set()
        for flight in self.flights.values():
            for number in np.flatnonzero(flight.left).tolist():
                for _, cell, _ in flight.part("store", [number]):
                    self.abandoned(flight, number, int(cell[0]))
                    row = cell[0] // self.shadows["shared"].cells
                    left_behind.add(int(flight.event.blocks[row]))
        for barriers in self.barriers_of.values():
            barriers.end(left_behind)

    def abandoned(self, flight: Flight, number: int, cell: int) -> None:
        """Nobody has waited for the copy that has this number in its flight."""
        shadow = self.shadows["shared"]
        name, address = self.words.locate("shared", cell % shadow.cells * shadow.grain)
        event = flight.event
        thread = self.words.thread(event.blocks[event.block[number]], event.thread[number])
        text = f"the copy to {address} that {thread} starts is under way when the kernel ends"
        text += ": nobody has waited for it"
        sites = flight.instruction, thread, address
        self.findings.report("asynchronous copy", text, *sites, what=name)
