"""Run a kernel in the interpreter, count what it costs, and keep what it did to memory.

Counting covers the whole run; single accesses are kept for chosen blocks and warps, so
that a picture can show which lane touched what.
"""

from __future__ import annotations

import functools
import math
import operator
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import analysis, ptx
from ..analysis.warps import LANES, Ints, Mask
from ..ptx.asynchronous.tensor_maps import memory_of
from ..ptx.text import isa
from ..ptx.text.names import demangle
from ..sass.hot_loop import thread_index_reads
from .arrays import Shape, array_shapes, index_text
from .counting import NOWHERE, Arrays, Cost, Place, SharedCost, Tally, first_active
from .metrics import FFMA, METRICS, PIPE
from .pipe_overheads import INACTIVE, LOADS_AND_STORES, THREAD_INDEX, PipeOverheads

WITH_ARRAYS = ("global", "shared", "local")  # spaces
Dim3 = tuple[int, int, int]
SPACE_OF = {Cost: "global", SharedCost: "shared"}
COLUMNS = {Cost: ("lines/req", "sectors/req"), SharedCost: ("wavefronts/req", "conflicts/req")}


@dataclass(frozen=True)
class WarpAccess:
    """One memory instruction of one warp, as the machine makes it: several of the source may
    have become one (`analysis.folding`). `offset`: bytes from the start of the array."""

    line: int  # CUDA source line
    kind: str  # "load", "store" or "atomic"
    space: str  # "global", "shared" or "local"
    array: str
    width: int  # bytes for each lane
    offset: Ints  # (32,)
    active: Mask  # (32,)
    warp: int
    start: int  # address of the array in its space; a thread's own, if local
    block: tuple[int, int, int] = (0, 0, 0)
    step: int = 0  # PTX instructions that the block had run before
    ptx_line: int = 0
    shape: Shape | None = None
    file: str = ""  # of the line

    @property
    def address(self) -> Ints:
        """Of each lane, in its space: (32,)."""
        return self.offset + self.start

    @property
    def sectors(self) -> int:
        """Of global memory, 32 bytes each."""
        return int(analysis.sectors(self.address, self.width, self.active))

    @property
    def wavefronts(self) -> int:
        """Of shared memory, for loads and stores of 4, 8 or 16 bytes."""
        return int(analysis.wavefronts(self.address, self.width, self.active, self.kind))

    @property
    def conflicts(self) -> int:
        """Of these, those that bank conflicts cost."""
        return int(analysis.bank_conflicts(self.address, self.width, self.active, self.kind))

    def element(self, lane: int) -> str:
        """The first element that a lane touches: `tile_a[3][17]`, a flat index of 4-byte words
        where the source does not tell the shape."""
        return index_text(self.array, int(self.offset[lane]), self.shape or Shape((1,), 4))


@dataclass
class Trace:
    """`counters` has Nsight Compute's metric names; `costs` is the same for each Place, a line and
    an array: a Cost or, of shared memory, a SharedCost. Loads of constant memory are in neither.
    `accesses` are those of block `block` (or what was asked for), in the order of execution
    (made when first asked for); `shapes` are those of the arrays, by name, in words of 4 bytes
    where the source does not tell. `beside` are the wavefronts of the data pipe that no load or
    store takes, by cause, but for those of threadIdx: see `pipe`. `warps` are all that were
    launched. `uncounted` are opcodes of textures and surfaces in the kernel, of which nothing is
    counted or kept, though Nsight Compute counts their requests among those of the L1."""

    block: tuple[int, int, int]
    shapes: dict[str, tuple[int, ...]]
    counters: Counter[str] = field(default_factory=Counter)
    costs: dict[Place, Cost | SharedCost] = field(default_factory=dict)
    beside: Counter[str] = field(default_factory=Counter)
    warps: int = 0
    uncounted: tuple[str, ...] = ()
    _kept: list[Callable[[], Iterator[WarpAccess]]] = field(default_factory=list)

    @functools.cached_property
    def accesses(self) -> list[WarpAccess]:
        """Those that were kept, in the order of execution."""
        return [access for of_event in self._kept for access in of_event()]

    def __repr__(self) -> str:
        tables = [
            _table(columns, [(p, *c[:4]) for p, c in sorted(self.costs.items()) if type(c) is kind])
            for kind, columns in COLUMNS.items()
        ]
        told = "\n\n".join(filter(None, tables)) or "no access to global or shared memory"
        if self.uncounted:
            told += f"\n\naccesses by {', '.join(self.uncounted)} are not counted"
        return told

    def find(self, array: str, kind: str = "load", warp: int = 0, index: int = 0) -> WarpAccess:
        """The `index`-th access of this kind by this warp to this array, in block `block`.
        Raises ValueError if there is none."""
        wanted = array, kind, warp, self.block
        these = [a for a in self.accesses if (a.array, a.kind, a.warp, a.block) == wanted]
        if not -len(these) <= index < len(these):
            seen = sorted({(a.kind, a.array) for a in self.accesses if a.warp == warp})
            raise ValueError(
                f"warp {warp} of block {self.block} has {len(these)} {kind}s of "
                f"{array}, so none has index {index}; it has "
                + (", ".join(f"{kind}s of {array}" for kind, array in seen) or "no accesses")
            )
        return these[index]

    def per_fma(self, metric: str) -> float:
        """A counter for each multiply-add of a whole warp. Raises ValueError without any."""
        if not self.counters[FFMA]:
            raise ValueError("the kernel has no multiply-add to divide by")
        return self.counters[metric] * LANES / self.counters[FFMA]

    @property
    def wavefronts_per_fma(self) -> float:
        """Of the data pipe, through which all loads and stores go, for each multiply-add of a
        whole warp: the unit in which the book weighs kernels. Raises ValueError without any."""
        return self.per_fma(PIPE)

    def pipe(self, kernel: Any, arch: str = "sm_90") -> dict[str, int]:
        """What Nsight Compute counts as wavefronts of the data pipe, by cause.

        kernel: the Kernel or Step that was traced, whose machine code says how often a warp reads
        threadIdx (outside loops, if each warp comes by). Raises CompileError.
        """
        reads = thread_index_reads(kernel, arch) * self.warps
        return {LOADS_AND_STORES: self.counters[PIPE], THREAD_INDEX: reads, **self.beside}

    def to_json(self) -> dict[str, Any]:
        """Counters and costs, for programs."""
        return {
            "counters": dict(self.counters),
            "uncounted": list(self.uncounted),
            "costs": [
                place._asdict() | {"space": SPACE_OF[type(cost)]} | cost._asdict()
                for place, cost in sorted(self.costs.items())
            ],
        }


def _table(columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    """Numbers after the requests are per request."""
    if not rows:
        return ""
    head = ("line", "access", "array", "requests", *columns, "at best")
    several = len({place.file for place, *_ in rows}) > 1
    cells = []
    for place, requests, *rest in rows:
        line = f"{place.file}:{place.line}" if several else str(place.line)
        each = (f"{n / requests:.4g}" for n in rest)
        cells.append((line, place.kind, place.array, str(requests), *each))
    widths = [max(map(len, column)) for column in zip(head, *cells)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in (head, *cells)
    )


def trace(
    entry: ptx.Entry,
    grid: Sequence[int] | int,
    block: Sequence[int] | int,
    args: Sequence[Any],
    names: Sequence[str] = (),
    shared_mem: int = 0,
    keep: Sequence[int] | Sequence[Sequence[int]] = (0, 0, 0),
    source: str = "",
    warps: Collection[int] | None = None,
    folded: bool = True,
    running: Mapping[str, Any] | None = None,
) -> Trace:
    """Run an entry in the interpreter and trace it.

    args as for `ptx.run`; names: what to call the arguments (by default `arg0`, `arg1`, …);
    source: the CUDA source, which tells the shapes of its arrays. Counting covers all; kept are
    the accesses of block `keep`, x first, or of several blocks, where given only of these
    warps. folded: join accesses as ptxas does; False leaves each as the PTX has it.
    running: what else `ptx.run` takes, such as step_limit.
    Raises ValueError if there is no such block or warp, and what `ptx.run` raises.
    """
    names = names or [f"arg{n}" for n in range(len(args))]
    recorder = Recorder(Tally(entry, folded), args, names, blocks_of(keep), source)
    recorder.warps = _chosen(warps)
    ptx.run(entry, grid, block, args, shared_mem=shared_mem, sink=recorder, **(running or {}))
    return recorder.end()


class Recorder:
    """The sink of such a run. `held` are the blocks whose accesses are kept, by their numbers."""

    warps: frozenset[int] | None

    def __init__(
        self, tally: Tally, args: Sequence[Any], names: Sequence[str], keep: list[Dim3], source: str
    ) -> None:
        self.tally, self.names, self.keep, self.source = tally, names, keep, source
        self.overheads = PipeOverheads(tally.code.functions)
        named = {
            name: x for name, x in zip(names, map(memory_of, args)) if isinstance(x, np.ndarray)
        }
        shapes = {name: x.shape for name, x in named.items()}
        self.result = Trace([*keep, (0, 0, 0)][0], shapes, tally.counters, tally.costs)
        code = [i for function in tally.code.functions for i in function.instructions]
        self.result.uncounted = tuple(
            sorted({i.opcode for i in code if isa.lookup(i).kind == "texture"})
        )
        tally.counters.update(dict.fromkeys(METRICS, 0))
        self.arrays: dict[str, Arrays] = {}
        self.elements = {  # by space and name of an array
            ("global", name): Shape(x.shape, x.itemsize) for name, x in named.items() if x.ndim
        }
        self.held: dict[int, Dim3] = {}

    def __call__(self, event: Any) -> None:
        self.overheads.hear(event)
        if isinstance(event, ptx.Executed):
            self.tally.executed(event)
        elif isinstance(event, ptx.Guarded):
            self.tally.guarded(event)
        elif isinstance(event, ptx.Started):
            self.tally.started(event)
        elif isinstance(event, ptx.Access) and event.space in self.arrays:
            if event.instruction.opcode in self.result.uncounted:
                return
            self.tally.access(event, self.arrays[event.space])
            if not self.held.keys().isdisjoint(blocks := event.blocks.tolist()):
                self._keep(event, [n for n, block in enumerate(blocks) if block in self.held])
        elif isinstance(event, ptx.Launched):
            self._launched(event)

    def _launched(self, event: ptx.Launched) -> None:
        there = -(-math.prod(event.block) // LANES)
        if missing := [warp for warp in self.warps or () if not 0 <= warp < there]:
            raise ValueError(f"there is no warp {missing[0]} in a block of {there} warps")
        self.held = {block_number(block, event.grid): block for block in self.keep}
        self.arrays = {space: _arrays(event, space, self.names) for space in WITH_ARRAYS}
        for space in ("shared", "local"):
            sizes = {demangle(a.name): a.size for a in event.allocations[space]}
            flat = {name: Shape((size // 4,), 4) for name, size in sizes.items()}
            for name, shape in (flat | array_shapes(self.source, sizes)).items():
                self.elements[space, name] = shape
                self.result.shapes.setdefault(name, _extents(shape))

    def _keep(self, event: ptx.Access, at: list[int]) -> None:
        """Keep an event, of the blocks at these places of its chunk."""
        first = first_active(event)
        if first is None:
            return
        name, start = self.arrays[event.space].find(first)
        address, mask = event.address, event.mask
        address = address[at] if len(address) > 1 else address.copy()
        if mask is not None:
            mask = mask[at] if len(mask) > 1 else mask.copy()
        small = replace(event, address=address, mask=mask, blocks=event.blocks[at], values=None)
        small = replace(small, rows=None)
        self.result._kept.append(functools.partial(self._accesses, small, name, start))

    def _accesses(self, event: ptx.Access, name: str, start: int) -> Iterator[WarpAccess]:
        """Yield the WarpAccesses of an event, all of whose blocks are kept."""
        where = event.instruction.position or NOWHERE
        shape = len(event.blocks), event.threads
        address, active = analysis.by_warp(event.address, event.mask, *shape)
        what = where.line, event.kind, event.space, name
        elements = self.elements.get((event.space, name))
        about: Any = event.step, event.instruction.line, elements, where.file
        for n, warp in np.argwhere(active.any(-1)).tolist():
            block = self.held[int(event.blocks[n])]
            for part in self.tally.code.parts_of(event):
                if self.warps is None or warp in self.warps:
                    offset = address[n, warp] + (part.offset - start)
                    lanes = part.width, offset, active[n, warp]
                    yield WarpAccess(*what, *lanes, warp, start, block, *about)

    def end(self) -> Trace:
        """The trace, once the run is over."""
        self.result.beside, self.result.warps = self.overheads.wavefronts, self.overheads.warps
        if self.tally.inactive:
            self.result.beside[INACTIVE] = self.tally.inactive
        return self.result


def blocks_of(keep: Sequence[Any]) -> list[tuple[int, int, int]]:
    """The blocks that `keep` names: one, x first, or a list of them. Raises ValueError."""
    wrong = f"keep must be a block, such as (1, 0), or a list of blocks, not {keep!r}"
    try:
        every = list(keep)
        several = len(every) > 0 and isinstance(every[0], (tuple, list))
        blocks = [[operator.index(n) for n in block] for block in (every if several else [every])]
    except TypeError:
        raise ValueError(wrong) from None
    if any(len(block) > 3 for block in blocks):
        raise ValueError(wrong)
    padded = [(*block, 0, 0) for block in blocks if block]
    return [(x, y, z) for x, y, z, *_ in padded]


def _chosen(warps: Collection[int] | None) -> frozenset[int] | None:
    """The numbers, None for all. Raises ValueError if they are none."""
    try:
        return None if warps is None else frozenset(map(operator.index, warps))
    except TypeError:
        raise ValueError(f"warps must be a list of whole numbers, not {warps!r}") from None


def block_number(block: Dim3, grid: Dim3) -> int:
    """The linear number of a block. Raises ValueError if the grid has no such block."""
    if not all(0 <= k < n for k, n in zip(block, grid)):
        raise ValueError(f"there is no block {block} in a grid of {grid}")
    return block[0] + grid[0] * (block[1] + grid[1] * block[2])


def _arrays(event: ptx.Launched, space: str, names: Sequence[str]) -> Arrays:
    """The arrays of a space, by the names of the arguments or of the source."""
    homes = sorted(event.allocations[space], key=lambda a: a.start)
    owners = [a for a in homes if a.size or space == "global"]
    called = dict(enumerate(names))
    labels = [
        called.get(-1 if a.argument is None else a.argument) or demangle(a.name) for a in owners
    ]
    starts = [a.start for a in owners] or [0]
    return Arrays([a.start - a.lead for a in owners] or [0], starts, labels or ["?"])


def _extents(shape: Shape) -> tuple[int, ...]:
    """As NumPy has them: the components of a vector type are another dimension."""
    inner = shape.element // (shape.component or shape.element)
    return tuple(n or 0 for n in shape.extents) + ((inner,) if inner > 1 else ())
