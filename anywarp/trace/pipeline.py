"""Who fills and who reads which bytes of shared memory, in the order in which a block does it.

What a copy or a thread does to the stages of a pipeline, and what their mbarriers go through, of
one block; `draw.pipeline` shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .. import ptx
from ..analysis.warps import LANES
from ..ptx.memory.events import Finished, Landed, MemoryBarrier, Started, Stretches
from ..ptx.text.names import demangle
from .arrays import Shape, array_shapes
from .trace import block_number, blocks_of

TEAM = 4  # warps of a warpgroup, which wgmma takes


@dataclass(frozen=True)
class Touch:
    """N stretches of bytes, each with a warp that had to do with them. int64 (N,) arrays.

    what: "issue", a copy into them is under way; "land", it has arrived; "store" and "read", of
    threads; "begin" and "end" of what reads on its own, as wgmma does. Of "land" and "end" the
    warp is that which issued it."""

    what: str
    warp: np.ndarray
    start: np.ndarray  # address in shared memory
    size: np.ndarray
    line: int  # CUDA source line
    step: int  # PTX instructions run before
    opcode: str  # "ld", "wgmma", "cp" of asynchronous copies
    barrier: np.ndarray | None = None  # of "land": the mbarrier that it reports to


@dataclass(frozen=True)
class Signal:
    """Something happened at an mbarrier: `what` as in `events.MemoryBarrier`. Or all threads
    have met at a barrier of the block, "barrier"."""

    what: str
    address: np.ndarray  # of the mbarriers, int64 (N,)
    warp: np.ndarray  # -1 for what no thread does
    count: np.ndarray
    line: int
    step: int


@dataclass
class Pipeline:
    """The touches and signals of one block, in order. Of arrays in shared memory, by name: where
    they start, how many bytes they have and, where the source tells, their shapes."""

    block: tuple[int, int, int]
    arrays: dict[str, tuple[int, int]] = field(default_factory=dict)
    shapes: dict[str, Shape] = field(default_factory=dict)
    events: list[Touch | Signal] = field(default_factory=list)


def pipeline(
    entry: ptx.Entry,
    grid: Sequence[int] | int,
    block: Sequence[int] | int,
    args: Sequence,
    *,
    shared_mem: int = 0,
    keep: Sequence[int] = (0, 0, 0),
    source: str = "",
    running: Mapping[str, object] | None = None,
) -> Pipeline:
    """Run an entry in the interpreter, and keep what the block `keep` (x first) does to shared
    memory. source, running: as for `trace.trace`. Raises ValueError if the grid has no such block,
    and what `ptx.run` raises."""
    listen = Recorder(keep, source)
    ptx.run(entry, grid, block, args, shared_mem=shared_mem, sink=listen, **(running or {}))
    return listen.found


class Recorder:
    """The sink of such a run."""

    def __init__(self, keep: Sequence[int], source: str = ""):
        self.found = Pipeline(next(iter(blocks_of(keep)), (0, 0, 0)))
        self.source = source
        self.number = 0  # of the block
        self.under_way: dict[int, list[tuple[str, Touch]]] = {}  # by ticket; ends as the str says

    def __call__(self, event) -> None:
        if isinstance(event, ptx.Launched):
            self._launched(event)
        at = np.flatnonzero(event.blocks == self.number) if hasattr(event, "blocks") else ()
        take = HANDLERS.get(type(event))
        if take and len(at):
            take(self, event, int(at[0]))

    def _launched(self, event: ptx.Launched) -> None:
        self.number = block_number(self.found.block, event.grid)
        for one in event.allocations["shared"]:
            if one.size:
                self.found.arrays[demangle(one.name)] = one.start, one.size
        sizes = {name: size for name, (_, size) in self.found.arrays.items()}
        self.found.shapes.update(array_shapes(self.source, sizes))

    def _add(self, event, what: str, warp, start, size, opcode=None, barrier=None) -> Touch:
        warp, start, size = (x.ravel() for x in np.broadcast_arrays(warp, start, size))
        opcode = opcode or event.instruction.opcode
        made = Touch(what, warp, start, size, _line(event), event.step, opcode, barrier)
        self.found.events.append(made)
        return made

    def _access(self, event: ptx.Access, at: int) -> None:
        if event.space == "shared":
            asynchronous = event.instruction.opcode == "cp"
            what = "issue" if asynchronous else "read" if event.kind == "load" else "store"
            self._of_threads(event, at, what)

    def _landed(self, event: Landed, at: int) -> None:
        self._of_threads(event, at, "land")

    def _of_threads(self, event, at: int, what: str) -> None:
        mask = _mask(event)
        threads = np.flatnonzero(mask[at])
        if threads.size:
            address = np.broadcast_to(event.address, mask.shape)[at][threads]
            self._add(event, what, threads // LANES, address, event.width)

    def _started(self, event: Started, at: int) -> None:
        for parts, what, end in ((event.writes, "issue", "land"), (event.reads, "begin", "end")):
            for one in parts:
                if one.space == "shared":
                    self._starts(event, at, one, what, end)

    def _starts(self, event: Started, at: int, parts: Stretches, what: str, end: str) -> None:
        """Copies and products are told apart by their tickets, with which they finish."""
        for operation in np.unique(parts.operation[parts.row == at]).tolist():
            mine = (parts.operation == operation) & (parts.row == at)
            start, size = parts.start[mine], parts.size[mine]
            warp = np.array([event.thread[operation] // LANES])
            if event.instruction.opcode == "wgmma":
                warp = warp + np.arange(TEAM)[:, None]
            made = self._add(event, what, warp, start, size)
            self.under_way.setdefault(int(event.ticket[operation]), []).append((end, made))

    def _finished(self, event: Finished, at: int) -> None:
        """What has only read goes on until it has written, unless it does not write here."""
        for n, ticket in enumerate(event.ticket.tolist()):
            left = []
            for end, made in self.under_way.pop(ticket, []):
                if event.reading_only and end == "land":
                    left.append((end, made))
                    continue
                barrier = None if event.address is None else event.address[n : n + 1]
                self._add(event, end, made.warp, made.start, made.size, made.opcode, barrier)
            if left:
                self.under_way[ticket] = left

    def _signal(self, event: MemoryBarrier, at: int) -> None:
        mine = event.row == at
        if mine.any():
            warp = np.where(event.thread[mine] < 0, -1, event.thread[mine] // LANES)
            address, count = event.address[mine], event.count[mine]
            self.found.events.append(
                Signal(event.what, address, warp, count, _line(event), event.step)
            )

    def _barrier(self, event: ptx.Barrier, at: int) -> None:
        if not _mask(event)[at].any():
            return
        nothing = np.zeros(0, np.int64)
        self.found.events.append(
            Signal("barrier", nothing, nothing, nothing, _line(event), event.step)
        )


HANDLERS = {
    ptx.Access: Recorder._access,
    Landed: Recorder._landed,
    Started: Recorder._started,
    Finished: Recorder._finished,
    MemoryBarrier: Recorder._signal,
    ptx.Barrier: Recorder._barrier,
}


def _line(event) -> int:
    position = event.instruction.position
    return position.line if position else 0


def _mask(event) -> np.ndarray:
    mask = True if event.mask is None else event.mask
    return np.broadcast_to(mask, (len(event.blocks), event.threads))
