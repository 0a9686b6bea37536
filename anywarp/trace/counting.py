"""Counting what a run of the interpreter does, event by event, as the hardware would.

Loads and stores are first joined as ptxas joins them (`analysis.folding`). Costs depend on a
warp's addresses only through their distances, so that a pattern that comes again is looked up.

A warp makes no request and takes no wavefront where none of its lanes is active; of predicated
accesses to shared memory it counts as an instruction all the same (`analysis.predication`), and
of the loads that ptxas writes before cp.async (`analysis.fillers`). Not modelled, and so counted
differently: stores that ptxas drops because others overwrite them, or makes one of at the end of
several branches; joins across loops that ptxas unrolls itself; what calls put on the stack.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from .. import analysis, ptx
from ..analysis.folding import Part
from ..analysis.sectors import SECTOR_BYTES
from ..analysis.warps import Ints, Mask
from ..ptx.text import isa
from ..ptx.text.syntax import Instruction
from . import metrics
from .emitted import MATRIX, emitted
from .metrics import FFMA, KINDS, PIPE
from .weighing import Patterns, near

WGMMA_BYTES = 128  # of an operand of wgmma that a wavefront of shared memory brings
# The metric in which ncu counts each warp that comes by such an instruction.
PER_WARP = {
    "ldmatrix": metrics.LDMATRIX,
    "stmatrix": metrics.STMATRIX,
    "cp.async": metrics.ASYNC_COPIES,
    "mma": metrics.TENSOR,
    "wgmma.mma_async": metrics.TENSOR,
    "wmma.mma": metrics.TENSOR,
}
WMMA = {"tf32": 4, "f64": 1}  # instructions of the machine for one; of other types 2
HALVED = {"e4m3", "e5m2"}  # of mma, for which there are two as well
COPIED = metrics.REQUESTS.format("ld"), metrics.SECTORS.format("ld"), PIPE  # of `Copies.ended`
FEW_LINES = 16 * analysis.LINE_BYTES  # an address as `near` moves it, of the fifth line and on
HIT = 1 << 60  # is added to such an address of a lane that hits in L1
SEEN = 1 << 10  # accesses remembered at most, of up to 9 KiB each
Weigh = Callable[[Ints, int, Mask, str], list[Ints]]
NOWHERE = ptx.Position("", 0)  # of an instruction whose CUDA line the PTX does not tell


class Place(NamedTuple):
    """What a line does: the CUDA line, load or store, the array by name, and the line's file."""

    line: int
    kind: str
    array: str
    file: str = ""


class Cost(NamedTuple):
    """Of global memory: requests of warps, the cache lines and sectors that each touched, added
    up, and the fewest sectors that could have held what the lanes used; the wavefronts of the
    data pipe that loads and stores took, and the fewest that could have carried it; those of the
    tag stage."""

    requests: int
    lines: int
    sectors: int
    ideal: int
    wavefronts: int = 0
    ideal_wavefronts: int = 0
    tags: int = 0

    @property
    def actual(self) -> int:
        """What there is of what `ideal` is the least of."""
        return self.sectors


class SharedCost(NamedTuple):
    """Of shared memory: instructions of warps, the wavefronts that they took, those of them that
    bank conflicts cost, and the fewest that could have brought what the lanes used."""

    requests: int
    wavefronts: int
    conflicts: int
    ideal: int

    @property
    def actual(self) -> int:
        """As of a Cost."""
        return self.wavefronts

    @property
    def ideal_wavefronts(self) -> int:
        """Under the name that `Cost` has, so that both have one scale."""
        return self.ideal


class Arrays(NamedTuple):
    """The arrays of a space, in order: where the lead of each begins, its start, its name."""

    begins: list[int]
    starts: list[int]
    names: list[str]

    def find(self, address: int) -> tuple[str, int]:
        """Name and start of the array that an address lies in, or in its lead."""
        at = max(bisect.bisect_right(self.begins, address) - 1, 0)
        return self.names[at], self.starts[at]


def first_active(event: ptx.Access) -> int | None:
    """The address of the first thread that takes part; None if none does."""
    if event.mask is None:
        return int(event.address.flat[0])
    address, mask = np.broadcast_arrays(event.address, event.mask)
    at = int(mask.argmax())
    return int(address.flat[at]) if mask.flat[at] else None


class Copies:
    """The cp.async under way: its loads from global memory, of which there are as many as its lanes
    differ in how much they read, and then its writing to shared memory; together they are one
    request of a warp."""

    def __init__(self, patterns: Patterns) -> None:
        self.loads: list[ptx.Access] = []  # of the latest
        self.patterns = patterns

    def loaded(self, event: ptx.Access) -> None:
        """From global memory."""
        self.loads.append(event)

    def ended(self, event: ptx.Access) -> tuple[int, int, int]:
        """It writes to shared memory: requests, sectors, wavefronts of the data pipe. A warp whose
        lanes all only fill with zeros makes no request."""
        shape = len(event.blocks), event.threads
        source = np.full(shape, -1)  # of lanes that read nothing
        for load in self.loads:
            if load.instruction is event.instruction:
                np.copyto(source, load.address, where=True if load.mask is None else load.mask)
        self.loads = []
        sources, active = analysis.by_warp(source, event.mask, *shape)
        targets, _ = analysis.by_warp(event.address, event.mask, *shape)
        reading = active & (sources >= 0)
        warps = np.stack([near(sources, reading, tags=True), near(targets, active)], axis=-2)
        past_l1 = "cg" in event.instruction.modifiers
        sectors, wavefronts = self.patterns.total(
            warps.reshape(-1, *warps.shape[-2:]),
            ("cp.async", event.width, past_l1),
            lambda rows: _copied(rows[:, 0], rows[:, 1], event.width, past_l1),
        )
        return int(reading.any(-1).sum()), sectors, wavefronts


class Tally:
    """Adds up `counters` by metric and `costs` by place."""

    def __init__(self, entry: ptx.Entry, folded: bool):
        self.counters: Counter[str] = Counter()
        self.costs: dict[Place, Cost | SharedCost] = {}
        self.code = emitted(entry, folded)
        self.patterns = Patterns()
        # by id() of the first instruction of a straight run: multiply-adds of a thread, and other
        # instructions that are counted for a warp
        self.runs: dict[int, tuple[int, Counter[str]]] = {}
        self.seen: dict[Any, tuple[int, ...]] = {}  # costs, by all that they depend on
        self.copies = Copies(self.patterns)
        self.latest: dict[str, Ints] = {}  # by array, the sectors of the latest load like `_hits`
        self.inactive = 0  # times that a warp executed one of `under` without an active lane

    def executed(self, event: ptx.Executed) -> None:
        """Multiply-adds of a straight run of instructions."""
        key = id(event.instructions[0]) if event.instructions else -1
        if key not in self.runs:
            unguarded = [id(i) for i in event.instructions if i.guard is None]
            count = sum(self.code.multiply_adds.get(i, 0) for i in unguarded)
            self.runs[key] = count, _per_warp(event.instructions)
        multiply_adds, others = self.runs[key]
        if multiply_adds:
            self.counters[FFMA] += multiply_adds * _threads(event)
        for metric, count in others.items():
            self.counters[metric] += count * _warps(event)
        for i in event.instructions if self.code.passed else ():
            for kind, loads in self.code.passed.get(id(i), {}).items():
                warps = _warps(event)
                if kind:
                    self.counters[metrics.SHARED_INSTRUCTIONS.format(kind)] += loads * warps
                self.inactive += loads * warps

    def guarded(self, event: ptx.Guarded) -> None:
        """A multiply-add under a predicate."""
        if count := self.code.multiply_adds.get(id(event.instruction)):
            self.counters[FFMA] += count * _threads(event)

    def started(self, event: ptx.Started) -> None:
        """Bulk copies, and wgmma's reading of shared memory."""
        i = event.instruction
        if i.opcode == "wgmma":
            count = sum(int(s.size.sum()) for s in event.reads) // WGMMA_BYTES
            self.counters[metrics.WGMMA_WAVEFRONTS] += count
            self.counters[PIPE] += count
            return
        if not event.reads:  # st.async
            return
        (reads,), (writes,) = event.reads, event.writes
        # a copy into several blocks is an operation for each, of which the first one reads
        leads, which = np.unique(reads.operation, return_inverse=True)
        targets = np.diff(leads, append=len(event.ticket))
        if reads.space == "global":
            spread = "multicast::cluster" in i.modifiers
            self.counters[metrics.BULK_LOADS] += len(leads if spread else event.ticket)
            self.counters[metrics.BULK_BYTES] += int((sector_bytes(reads) * targets[which]).sum())
            return
        self.counters[metrics.BULK_STORES] += len(leads)
        if writes.space == "global" and "reduce" not in i.modifiers:
            self.counters[metrics.BULK_BYTES_STORED] += int(sector_bytes(writes).sum())

    def access(self, event: ptx.Access, arrays: Arrays) -> None:
        """A load, store or atomic of global memory; a load or store of shared or local memory.

        cp.async counts as a load of global memory, its way into shared memory as no store, and
        accesses to the shared memory of another block as neither. Those that need not be of shared
        memory, or not of the own block's, take wavefronts, but are no instructions of shared
        memory. What atomics take in the data pipe is not counted. The sectors that Nsight Compute
        counts for cp.async.cg are those that it writes to in shared memory (seen on an H200 with
        seven patterns), but for lanes that only fill with zeros; its cost has those that it reads.
        """
        if event.rows is not None:
            event = event.own()
        first = first_active(event)
        if first is None or (event.space == "shared" and event.kind not in KINDS):
            return
        opcode = event.instruction.opcode
        if event.space == "local":
            self.counters[PIPE] += self._weigh(event, Part(0, event.width), _local)[0]
            return
        if opcode == "cp":
            if event.space == "shared":
                for name, count in zip(COPIED, self.copies.ended(event)):
                    self.counters[name] += count
                return
            self.copies.loaded(event)
        where = event.instruction.position or NOWHERE
        place = Place(where.line, event.kind, arrays.find(first)[0], where.file)
        for part in self.code.parts_of(event):
            shared = event.space == "shared"
            weigh = _matrix if opcode in MATRIX else _shared if shared else _global
            counts = self._weigh(event, part, weigh, place.array)
            kind = SharedCost if shared else Cost
            before = self.costs.get(place, (0,) * len(counts))
            self.costs[place] = kind(*(a + b for a, b in zip(before, counts)))
            under = id(event.instruction) in self.code.under
            if under:
                self.inactive -= counts[0]
            if opcode == "cp":
                continue  # counted by `Copies`
            self.counters[PIPE] += kind(*counts).wavefronts
            if event.kind not in KINDS:
                continue
            names = [metrics.REQUESTS, "", metrics.SECTORS, "", "", "", metrics.TAGS]
            if shared:
                names = [metrics.SHARED_INSTRUCTIONS, metrics.WAVEFRONTS, metrics.CONFLICTS]
                if under or id(event.instruction) not in self.code.shared:
                    names[0] = ""
            for name, count in zip(names, counts):
                if name:
                    self.counters[name.format(KINDS[event.kind])] += count

    def _weigh(
        self, event: ptx.Access, part: Part, count: Weigh, array: str = ""
    ) -> tuple[int, ...]:
        """The numbers of a cost, for all warps of the event."""
        rows = max(len(x) for x in (event.address, event.mask) if x is not None)  # that differ
        times = len(event.blocks) // rows
        key: Any = None  # of what is the same in all blocks, and comes again in a loop
        if rows == 1 and count is not _global:
            mask = None if event.mask is None else event.mask.tobytes()
            key = count, event.kind, part, event.threads, event.address.tobytes(), mask
            if known := self.seen.get(key):
                return tuple(times * n for n in known)
        addresses, active = analysis.by_warp(event.address, event.mask, rows, event.threads)
        addresses = addresses + part.offset
        warps = near(addresses, active, event.space == "global")
        if count is _global and event.kind == "load" and warps.max() >= FEW_LINES:
            warps[self._hits(array, addresses, active)] += HIT
        costs = self.patterns.total(
            warps.reshape(-1, analysis.LANES),
            (count, event.kind, part.width),
            lambda rows: [x.tolist() for x in count(rows, part.width, rows >= 0, event.kind)],
        )
        if key:
            if len(self.seen) >= SEEN:
                self.seen.clear()
            self.seen[key] = costs
        return tuple(times * n for n in costs)

    def _hits(self, array: str, addresses: Ints, active: Mask) -> Mask:
        """The lanes that are taken to hit in L1: those that stay in the sector of their latest such
        load of the array, or come to one that a warp before them in the block asks for now."""
        sectors = np.where(active, addresses // SECTOR_BYTES, -1)
        before, self.latest[array] = self.latest.get(array), sectors
        same = before is not None and before.shape == sectors.shape
        hits = active & (sectors == before if same else False)
        new = active & ~hits
        head = new.copy()  # the first of lanes side by side that ask for a sector
        head[..., 1:] &= ~new[..., :-1] | (sectors[..., 1:] != sectors[..., :-1])
        at = np.flatnonzero(head)
        warp = at // analysis.LANES
        keys = sectors.ravel()[at] * len(sectors) + warp // sectors.shape[1]  # of one block
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        again = warp[first][which] != warp
        if again.any():
            hits[new] = again[np.cumsum(head[new]) - 1]
        return np.asarray(hits)


def sector_bytes(stretches: ptx.Stretches) -> Ints:
    """The bytes of the sectors that each stretch of global memory lies in."""
    first = stretches.start // SECTOR_BYTES
    last = (stretches.start + stretches.size - 1) // SECTOR_BYTES
    return np.asarray(SECTOR_BYTES * (last - first + 1))


def _per_warp(instructions: Iterable[Instruction]) -> Counter[str]:
    """By metric of PER_WARP, the instructions of the machine that a warp executes for these."""
    counts: Counter[str] = Counter()
    for i in instructions:
        if metric := PER_WARP.get(isa.name(i)):
            kinds = [WMMA[x] for x in i.modifiers if x in WMMA] or [2]
            several = i.opcode == "wmma" or not HALVED.isdisjoint(i.modifiers)
            counts[metric] += kinds[0] if several else 1
    return counts


def _threads(event: ptx.Executed | ptx.Guarded) -> int:
    """Threads that take part."""
    return int(analysis.whole_mask(event.mask, (len(event.blocks), event.threads)).sum())


def _warps(event: ptx.Executed) -> int:
    """Warps with a thread that takes part."""
    _, active = analysis.by_warp(0, event.mask, len(event.blocks), event.threads)
    return int(active.any(-1).sum())


def _copied(
    sources: np.ndarray, targets: np.ndarray, width: int, past_l1: bool
) -> tuple[list[int], list[int]]:
    """Of each warp: the sectors, and the wavefronts of the data pipe, which a copy past the L1
    does not take. -1 is as in `near`."""
    active, reading = targets >= 0, sources >= 0
    if past_l1:
        return analysis.sectors(targets, width, reading).tolist(), [0] * len(targets)
    wavefronts = analysis.copy_wavefronts(sources, targets, width, active)
    return analysis.sectors(sources, width, reading).tolist(), wavefronts.tolist()


def _global(addresses: Ints, width: int, active: Mask, kind: str) -> list[Ints]:
    """The numbers of a Cost, without wavefronts of an atomic operation; (warps,) each."""
    hits, addresses = addresses >= HIT, addresses % HIT
    width = 1 << (width - 1).bit_length()  # cp.async may read a part of where it is aligned
    functions = analysis.cache_lines, analysis.sectors, analysis.ideal_sectors
    counts = [function(addresses, width, active) for function in functions]
    if kind in KINDS:
        data, tags = analysis.l1_wavefronts(addresses, width, active, kind, hits)
        counts += [data, analysis.ideal_global_wavefronts(addresses, width, active), tags]
    return [np.asarray(active.any(-1), np.int64), *counts]


def _local(addresses: Ints, width: int, active: Mask, kind: str) -> list[Ints]:
    """The wavefronts."""
    return [analysis.local_wavefronts(addresses, width, active, kind)]


def _matrix(addresses: Ints, width: int, active: Mask, kind: str) -> list[Ints]:
    """Each eight lanes have the rows of one matrix, which two matrices never share."""
    return _shared(addresses, width, active, "store")


def _shared(addresses: Ints, width: int, active: Mask, kind: str) -> list[Ints]:
    """The numbers of a SharedCost."""
    if width < analysis.BANK_BYTES:  # a lane that wants a part of a word wants it
        addresses, width = addresses // 4 * 4, 4
    functions = analysis.wavefronts, analysis.bank_conflicts, analysis.ideal_wavefronts
    counts = [function(addresses, width, active, kind) for function in functions]
    return [np.asarray(active.any(-1), np.int64), *counts]
