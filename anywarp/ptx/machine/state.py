"""What changes while a chunk of blocks runs, and what all chunks of a launch share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..aliases import Array, Extent, Mask
from ..asynchronous.proxy import Flights, Groups
from ..calls.functions import Frame, Layout
from ..calls.library import Heap, Printer
from ..errors import PTXError, thread_name
from ..memory import allocations
from ..memory.clusters import Cluster, Meeting
from ..memory.textures import Held
from ..text.syntax import Instruction

MANY_LOOKS = 256  # of a chunk at memory, in vain, before its stores are looked at, too
PATIENCE = 4  # looks at memory that nobody changes before it is others' turn


@dataclass
class Launch:
    """What the chunks of a launch share."""

    step_limit: int
    printer: Printer
    heap: Heap | None
    layouts: tuple[Layout, Layout]  # of local memory, and of the parameters of calls
    depth: int  # calls within calls that there is room for
    shared_size: int  # bytes for a block
    cluster: Cluster
    images: dict[int, Held]  # textures and surfaces by their handles
    workspace: int  # address of the grid's barrier; 0 unless the launch is cooperative
    steps: int = 0  # instructions run by all chunks
    tickets: int = 0  # asynchronous operations begun

    def layout_of(self, function: str, name: str) -> Layout:
        return next(each for each in self.layouts if (function, name) in each.symbols)


@dataclass
class State:
    """All that changes while a chunk runs.

    A place is a program counter and a depth in one number: the program counter, less the
    program's size for each call that the threads are within. The lowest is the deepest."""

    registers: list[Array]
    spaces: dict[str, allocations.Space]
    blocks: Array  # (B,) linear block numbers
    grid: Extent
    block: Extent
    launch: Launch
    size: int  # of the program
    sink: Callable[[Any], None] | None = None
    tolerant: bool = False
    steps: int = 0  # instructions run
    earlier: int = 0  # and those that other chunks had run when this one last came on
    ready: dict[int, Array | None] = field(default_factory=lambda: {0: None})
    base: int = 0  # place, less program counter, of the threads that run
    frames: dict[int, Frame] = field(default_factory=dict)
    # barrier -> {place: mask}
    waiting: dict[int, dict[Any, Any]] = field(default_factory=dict[Any, Any])
    arrived: dict[int, Array] = field(default_factory=dict)  # bar.arrive counts (B,)
    counts: dict[int, Array] = field(default_factory=dict)  # threads that each takes, (B,); 0: all
    # place of a warp-wide instruction -> (mask of the lanes that wait, instruction, what is wrong
    # if they wait for ever)
    gathering: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    copies: Groups = field(default_factory=Groups)  # cp.async's
    products: Groups = field(default_factory=Groups)  # of wgmma, for the sink alone
    flights: Flights = field(default_factory=Flights)  # of the asynchronous proxy
    patterns: dict[int, tuple[Any, ...]] = field(default_factory=dict)  # see `patterns.recurring`
    # how the run gets on, for the scheduler
    changed: bool = False  # memory, or who is there, has changed in this turn
    careful: bool = False  # a store of what is there already does not count as a change
    polls: dict[int, int] = field(default_factory=dict)  # looks at memory since it last changed
    looked: int = 0  # in all
    impatient: bool = False  # one of them has looked several times
    # where they look: the instruction, the threads (B, T) and, of so many, what they wait for
    looks: dict[int, tuple[Instruction, Array, Callable[[int], str]]] = field(default_factory=dict)
    stuck_after: int | None = None  # the place that ran last when the chunk was found stuck
    leaving: tuple[int, ...] = ()  # places where threads have nothing left to do but exit

    def __post_init__(self) -> None:
        x, y, z = self.block
        self.shape = (len(self.blocks), x * y * z)
        self.alive = np.ones(self.shape, bool)
        self.meeting = Meeting(self.shape, self.launch.cluster.size)
        self.visits = [0] * self.size  # turns of each basic block

    @property
    def depth(self) -> int:
        return -self.base // self.size

    def full(self, mask: Mask) -> Array:
        """The mask as an array (B, T)."""
        if mask is None:
            return np.ones(self.shape, bool)
        return mask if mask.shape == self.shape else np.broadcast_to(mask, self.shape)

    def tell(self, event: Any, i: Instruction, *more: Any) -> None:
        """Tell the sink, if there is one, of an event that an instruction has made."""
        if self.sink is not None:
            self.sink(event(i, self.blocks, self.shape[1], self.steps, *more))

    def alike(self, values: Array, mask: Mask) -> Iterator[tuple[Any, ...]]:
        """Yield what registers hold, as integers, and the mask of the threads for which they are
        that; None for a register that there is not."""
        if all(value is None or value.size == 1 for value in values):
            yield *(None if value is None else int(value.flat[0]) for value in values), mask
            return
        active = self.full(mask)
        rows = [np.broadcast_to(0 if v is None else v, self.shape)[active] for v in values]
        for row in np.unique(np.stack(rows), axis=1).T.tolist():
            here = active.copy()
            for n, value in enumerate(values):
                if value is not None:
                    here &= value == row[n]
            same = (None if value is None else row[n] for n, value in enumerate(values))
            yield *same, None if here.all() else here

    def require(
        self, right: Array, mask: Mask, i: Instruction, message: Any, kind: Any = PTXError
    ) -> None:
        """Raise an error of this kind for the first thread of the mask for which something is not
        right; `message` says what, or is a function of the thread, (b, t), that does."""
        if not right.all() and (wrong := self.full(mask) & ~right).any():
            at = tuple(np.argwhere(wrong)[0].tolist())
            what = message if isinstance(message, str) else message(at)
            raise kind(what, instruction=i, thread=self.describe_thread(*at))

    def go(self, pc: int, mask: Mask, deeper: int = 0) -> None:
        """Let the threads of the mask, which run, continue at pc, so many calls deeper."""
        self.resume(pc + self.base - deeper * self.size, mask)

    def resume(self, place: int, mask: Mask) -> None:
        """Let the threads of the mask continue at a place, with those that are there already."""
        if place in self.ready and mask is not None:
            mask = self.ready[place] | mask
        self.ready[place] = None if mask is None or mask.all() else mask

    def poll(self, pc: int, i: Instruction, mask: Mask, say: Callable[[int], str]) -> None:
        """Threads look at what another may change: a strong load, an atomic that did nothing.
        `say(count)`: what so many threads of a block wait for if they look for ever."""
        count = self.polls.get(pc, 0) + 1
        self.polls[pc] = count
        self.looked += 1
        self.careful = self.careful or self.looked >= MANY_LOOKS  # what it saw may be stored again
        before = self.looks[pc][1] if pc in self.looks else False
        self.looks[pc] = i, self.full(mask) | before, say
        if count >= PATIENCE:
            self.impatient = True

    def tickets(self, count: int) -> Array:
        """Numbers for so many asynchronous operations, which no others of the launch have."""
        self.launch.tickets += count
        return np.arange(self.launch.tickets - count, self.launch.tickets)

    def forget_looks(self) -> None:
        """Memory has changed: whoever looked at it before may find something else now."""
        self.polls.clear()
        self.looks.clear()

    def first_thread(self, mask: Mask) -> str:
        return self.describe_thread(*np.argwhere(self.full(mask))[0].tolist())

    def describe_block(self, b: int) -> str:
        return self.describe_thread(b, 0).partition(", thread")[0]

    def describe_thread(self, b: int, t: int) -> str:
        return thread_name(self.blocks[b], t, self.grid, self.block)
