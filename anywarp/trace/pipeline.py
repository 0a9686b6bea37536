"""Who fills and who reads which bytes of shared memory, in the order in which a block does it.

What a copy or a thread does to the stages of a pipeline, and what their mbarriers go through, of
one block; `draw.pipeline` shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import ptx
from ..analysis.warps import LANES, Ints, Mask, whole_mask
from ..ptx.memory.events import Finished, Landed, MemoryBarrier, Started, Stretches
from ..ptx.text.names import demangle
from .arrays import Shape, array_shapes
from .trace import block_number, blocks_of

WARPGROUP_WARPS = 4  # which wgmma takes


@dataclass(frozen=True)
class Touch:
    """N stretches of bytes, each with a warp that had to do with them. int64 (N,) arrays.

    what: "issue", a copy into them is under way; "land", it has arrived; "store" and "read", of
    threads; "begin" and "end" of what reads on its own, as wgmma does. Of "land" and "end" the
    warp is that which issued it."""

    what: str
    warp: Ints
    start: Ints  # address in shared memory
    size: Ints
    line: int  # CUDA source line
    opcode: str  # "ld", "wgmma", "cp" of asynchronous copies
    barrier: Ints | None = None  # of "land": the mbarrier that it reports to


@dataclass(frozen=True)
class Signal:
    """Something happened at an mbarrier: `what` as in `events.MemoryBarrier`. Or all threads
    have met at a barrier of the block, "barrier"."""

    what: str
    address: Ints  # of the mbarriers, (N,)
    warp: Ints  # -1 for what no thread does
    count: Ints
    line: int


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
    args: Sequence[Any],
    *,
    shared_mem: int = 0,
    keep: Sequence[int] = (0, 0, 0),
    source: str = "",
    running: Mapping[str, Any] | None = None,
) -> Pipeline:
    """Run an entry in the interpreter, and keep what the block `keep` (x first) does to shared
    memory. source, running: as for `trace.trace`. Raises ValueError if the grid has no such block,
    and what `ptx.run` raises."""
    listen = Recorder(keep, source)
    ptx.run(entry, grid, block, args, shared_mem=shared_mem, sink=listen, **(running or {}))
    return listen.result


class Recorder:
    """The sink of such a run."""

    def __init__(self, keep: Sequence[int], source: str = ""):
        self.result = Pipeline([*blocks_of(keep), (0, 0, 0)][0])
        self.source = source
        self.number = 0  # of the block
        self.under_way: dict[int, list[tuple[str, Touch]]] = {}  # by ticket; ends as the str says

    def __call__(self, event: Any) -> None:
        if isinstance(event, ptx.Launched):
            self._launched(event)
        at: Any = np.flatnonzero(event.blocks == self.number) if hasattr(event, "blocks") else []
        take = HANDLERS.get(type(event))
        if take and len(at):
            take(self, event, int(at[0]))

    def _launched(self, event: ptx.Launched) -> None:
        self.number = block_number(self.result.block, event.grid)
        for home in event.allocations["shared"]:
            if home.size:
                self.result.arrays[demangle(home.name)] = home.start, home.size
        sizes = {name: size for name, (_, size) in self.result.arrays.items()}
        self.result.shapes.update(array_shapes(self.source, sizes))

    def _add(self, event: Any, what: str, warp: Ints, start: Ints, size: Any) -> Touch:
        warp, start, size = (x.ravel() for x in np.broadcast_arrays(warp, start, size))
        made = Touch(what, warp, start, size, _line(event), event.instruction.opcode)
        self.result.events.append(made)
        return made

    def _access(self, event: ptx.Access, at: int) -> None:
        what = {"load": "read"}.get(event.kind, "store")
        self._of_threads(event, at, "issue" if event.instruction.opcode == "cp" else what)

    def _landed(self, event: Landed, at: int) -> None:
        self._of_threads(event, at, "land")

    def _of_threads(self, event: ptx.Access | Landed, at: int, what: str) -> None:
        threads = np.flatnonzero(_mask(event)[at])
        if threads.size and getattr(event, "space", "shared") == "shared":
            shape = len(event.blocks), event.threads
            address = np.broadcast_to(event.address, shape)[at][threads]
            self._add(event, what, threads // LANES, address, event.width)

    def _started(self, event: Started, at: int) -> None:
        """Copies and products are told apart by their tickets, with which they finish."""
        every = [(parts, "issue", "land") for parts in event.writes]
        every += [(parts, "begin", "end") for parts in event.reads]
        for parts, what, end in every:
            if parts.space == "shared":
                self._starts(event, at, parts, what, end)

    def _starts(self, event: Started, at: int, parts: Stretches, what: str, end: str) -> None:
        for operation in np.unique(parts.operation[parts.row == at]).tolist():
            mine = (parts.operation == operation) & (parts.row == at)
            start, size = parts.start[mine], parts.size[mine]
            warp = np.array([event.thread[operation] // LANES])
            if event.instruction.opcode == "wgmma":
                warp = warp + np.arange(WARPGROUP_WARPS)[:, None]
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
                over = replace(made, what=end, line=_line(event), barrier=barrier)
                self.result.events.append(over)
            if left:
                self.under_way[ticket] = left

    def _signal(self, event: MemoryBarrier, at: int) -> None:
        mine = event.row == at
        if mine.any():
            warp = np.where(event.thread[mine] < 0, -1, event.thread[mine] // LANES)
            address, count = event.address[mine], event.count[mine]
            self.result.events.append(Signal(event.what, address, warp, count, _line(event)))

    def _barrier(self, event: ptx.Barrier, at: int) -> None:
        if _mask(event)[at].any():
            nothing = np.zeros(0, np.int64)
            signal = Signal("barrier", nothing, nothing, nothing, _line(event))
            self.result.events.append(signal)


HANDLERS: dict[type, Callable[[Recorder, Any, int], None]] = {
    ptx.Access: Recorder._access,
    Landed: Recorder._landed,
    Started: Recorder._started,
    Finished: Recorder._finished,
    MemoryBarrier: Recorder._signal,
    ptx.Barrier: Recorder._barrier,
}


def _line(event: Any) -> int:
    """The CUDA line of an event's instruction, 0 if it has none."""
    position = event.instruction.position
    return int(position.line) if position else 0


def _mask(event: ptx.Access | Landed | ptx.Barrier) -> Mask:
    """Who takes part: (blocks, threads)."""
    return whole_mask(event.mask, (len(event.blocks), event.threads))
