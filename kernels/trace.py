"""Run a kernel in the interpreter and keep what it did to memory.

Counting covers the whole run; single accesses are kept for one chosen block, so that a picture
can show which lane touched what.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from . import analysis, ptx

REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"
FFMA = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
SHORT = {"load": "ld", "store": "st"}       # as the metrics name them


class Place(NamedTuple):
    """What a line does: the CUDA line, load or store, and the array by name."""
    line: int
    kind: str
    array: str


class Cost(NamedTuple):
    """Of global memory: requests of warps, the cache lines and sectors that each touched, added
    up, and the fewest sectors that could have held what the lanes used."""
    requests: int
    lines: int
    sectors: int
    ideal: int


@dataclass(frozen=True)
class WarpAccess:
    """One memory instruction of one warp. `offset`: bytes from the start of the array."""
    line: int                   # CUDA source line
    kind: str                   # "load", "store" or "atomic"
    space: str
    array: str
    width: int                  # bytes for each lane
    offset: np.ndarray          # (32,) int64
    active: np.ndarray          # (32,) bool
    warp: int
    start: int                  # address of the array

    @property
    def address(self) -> np.ndarray:
        return self.offset + self.start

    @property
    def sectors(self) -> int:
        return int(analysis.sectors(self.address, self.width, self.active))


@dataclass
class Trace:
    """`counters` has Nsight Compute's metric names; `costs` is the same for each line and array;
    `accesses` are those of block `block`, in the order of execution; `shapes` are those of the
    arrays, by name."""
    block: tuple[int, int, int]
    shapes: dict[str, tuple[int, ...]]
    counters: Counter = field(default_factory=Counter)
    costs: dict[Place, Cost] = field(default_factory=dict)
    accesses: list[WarpAccess] = field(default_factory=list)

    def __repr__(self) -> str:
        head = ("line", "access", "array", "requests", "lines/req", "sectors/req", "at best")
        rows = [(str(p.line), p.kind, p.array, str(c.requests),
                 *(f"{n / c.requests:.4g}" for n in (c.lines, c.sectors, c.ideal)))
                for p, c in sorted(self.costs.items())]
        widths = [max(map(len, column)) for column in zip(head, *rows)]
        return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths))
                         for row in (head, *rows))

    def find(self, array: str, kind: str = "load", warp: int = 0, index: int = 0) -> WarpAccess:
        """The `index`-th access of this kind by this warp to this array, in the kept block.
        Raises ValueError if there is none."""
        found = [a for a in self.accesses
                 if (a.array, a.kind, a.warp) == (array, kind, warp)]
        if not -len(found) <= index < len(found):
            seen = sorted({(a.kind, a.array) for a in self.accesses if a.warp == warp})
            raise ValueError(f"warp {warp} of block {self.block} has {len(found)} {kind}s of "
                             f"{array}, so none has index {index}; it has "
                             + (", ".join(f"{kind}s of {array}" for kind, array in seen)
                                or "no accesses"))
        return found[index]


def trace(entry: ptx.Entry, grid: Sequence[int] | int, block: Sequence[int] | int, args: Sequence,
          names: Sequence[str] = (), dynamic_shared: int = 0,
          keep: Sequence[int] = (0, 0, 0)) -> Trace:
    """Run an entry in the interpreter and trace it.

    args as for `ptx.run`; names: what to call the arguments (by default `arg0`, `arg1`, …);
    keep: the block, x first, whose accesses are kept. Raises ValueError if the grid has no such
    block, and what `ptx.run` raises.
    """
    keep = (*keep, 0, 0)[:3]
    names = names or [f"arg{n}" for n in range(len(args))]
    shapes = {name: x.shape for name, x in zip(names, args) if isinstance(x, np.ndarray)}
    state: dict = {}

    def listen(event) -> None:
        if isinstance(event, ptx.Launched):
            state.update(_begin(event, keep, names, shapes))
        elif isinstance(event, ptx.Executed):
            state["trace"].counters[FFMA] += _ffma(event)
        elif isinstance(event, ptx.Access) and event.space == "global":
            _account(event, **state)

    ptx.run(entry, grid, block, args, dynamic_shared=dynamic_shared, sink=listen)
    return state["trace"]


def _begin(event: ptx.Launched, keep, names, shapes) -> dict:
    x, y, z = event.grid
    if not all(0 <= k < n for k, n in zip(keep, event.grid)):
        raise ValueError(f"there is no block {keep} in a grid of {event.grid}")
    owners = sorted(event.allocations["global"], key=lambda a: a.start)
    called = {f"argument {n} ": name for n, name in enumerate(names)}
    labels = [next((name for prefix, name in called.items() if a.name.startswith(prefix)), a.name)
              for a in owners]
    return {"trace": Trace(keep, shapes), "number": keep[0] + x * (keep[1] + y * keep[2]),
            "starts": np.array([a.start for a in owners]), "labels": labels}


def _ffma(event: ptx.Executed) -> int:
    count = sum(i.opcode == "fma" and i.modifiers[-1] == "f32" for i in event.instructions)
    if count == 0:
        return 0
    mask = True if event.mask is None else event.mask
    return count * int(np.broadcast_to(mask, (len(event.blocks), event.threads)).sum())


def _account(event: ptx.Access, trace: Trace, number: int, starts, labels) -> None:
    addresses, active = analysis.by_warp(event)
    taking_part = active.any(-1)
    if not taking_part.any():
        return
    first = addresses[active][0]
    owner = int(np.searchsorted(starts, first, "right")) - 1
    cost = Cost(int(taking_part.sum()),
                *(int(count(addresses, event.width, active).sum()) for count in
                  (analysis.cache_lines, analysis.sectors, analysis.ideal_sectors)))
    line = event.instruction.position.line if event.instruction.position else 0
    place = Place(line, event.kind, labels[owner])
    trace.costs[place] = Cost(*(a + b for a, b in zip(trace.costs.get(place, (0,) * 4), cost)))
    if event.kind in SHORT:
        trace.counters[REQUESTS.format(SHORT[event.kind])] += cost.requests
        trace.counters[SECTORS.format(SHORT[event.kind])] += cost.sectors
    at = np.flatnonzero(event.blocks == number)
    for b in at:
        for warp in np.flatnonzero(taking_part[b]):
            trace.accesses.append(WarpAccess(
                line, event.kind, event.space, labels[owner], event.width,
                addresses[b, warp] - starts[owner], active[b, warp], int(warp),
                int(starts[owner])))
