"""What a run tells whoever listens: `run(..., sink=f)` calls f with each event.

The interpreter knows nothing of what becomes of them. Arrays have the shape
(blocks of the chunk, threads of a block) or broadcast to it, masks too; threads are numbered x
first. A mask of None means that every thread takes part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..aliases import Array, Extent
from ..text.syntax import Entry, Instruction
from .allocations import Allocation


@dataclass(frozen=True)
class Launched:
    """Comes first: what is run, and which bytes of each space belong to what."""

    entry: Entry
    grid: Extent
    block: Extent
    # by space: global, shared, local, param; "arguments" of calls are among those of local
    allocations: dict[str, tuple[Allocation, ...]]
    heap: int = 0  # the end of what malloc gives out, in global memory; 0 if nobody calls it
    cluster: Extent = (1, 1, 1)  # blocks; those of one are neighbours in a chunk


@dataclass(frozen=True)
class Executed:
    """A straight run of instructions, executed once by the threads of the mask."""

    instructions: tuple[Instruction, ...]
    blocks: Array  # (B,) linear block numbers
    threads: int  # threads of a block
    mask: Array | None
    step: int  # instructions run before, in this chunk


@dataclass(frozen=True)
class Event:
    """What comes of an instruction."""

    instruction: Instruction
    blocks: Array  # (B,) linear block numbers
    threads: int  # threads of a block
    step: int  # instructions run before, in this chunk


@dataclass(frozen=True)
class Guarded(Event):
    """An instruction under a predicate, executed once by the threads of the mask: the Executed
    event before it says who came there."""

    mask: Array | None


@dataclass(frozen=True)
class Chosen(Event):
    """An instruction whose result does not depend on all sources: where it does on the first and on
    the second, bool."""

    mask: Array | None
    first: Array
    second: Array


@dataclass(frozen=True)
class Access(Event):
    """One memory instruction, executed once."""

    kind: str  # "load", "store", "atomic"
    space: str  # "global", "shared", "local", "const", "param"; "arguments" of calls
    width: int  # bytes for each thread
    address: Array  # int64 byte addresses within the space
    mask: Array | None
    values: tuple[Array, ...] | None = None  # of a store: its elements, unsigned
    rows: Array | None = None  # int64 (B, T): the block of the chunk whose shared memory
    # each thread reaches, where some reach that of another one of the cluster

    def own(self, own: bool = True) -> Access:
        """Of one with `rows`: the same access of the threads that reach the shared memory of
        their own block, or of the others."""
        assert self.rows is not None
        chosen = (self.rows == np.arange(len(self.blocks))[:, None]) == own
        mask = chosen if self.mask is None else chosen & self.mask
        return replace(self, mask=mask, rows=None)


@dataclass(frozen=True)
class Fault(Event):
    """Of a tolerant run: accesses that are out of bounds or misaligned, or to the shared memory
    of a block that has exited, and are not made. The Access for the other threads follows."""

    kind: str
    space: str
    width: int
    align: int
    address: Array
    mask: Array  # the threads at fault
    rows: Array | None = None  # as in Access
    exited: Array | None = None  # those at fault because a block has exited, if any are
    where: str = ""  # of the first thread, in words, if the address does not say it


@dataclass(frozen=True)
class Passed(Event):
    """A call or a return has copied a parameter of the threads of the mask, from the address
    `source` to `address`, among the arguments; or printf has read at `source` in local memory."""

    width: int
    source: Array
    address: Array | None
    mask: Array | None


@dataclass(frozen=True)
class Landed(Event):
    """What a cp.async, the instruction, has stored, with a wait, for the threads of the mask. Its
    Access came when the copy was issued."""

    width: int
    address: Array  # in shared memory
    mask: Array


@dataclass(frozen=True)
class Stretches:
    """M stretches of bytes of one space, each of one operation. All but the space: int64 (M,)."""

    space: str  # "global", "shared"
    operation: Array  # 0, 1, …: an index into the operations of the event
    row: Array  # the block of the chunk in whose shared memory it lies; 0 in global memory
    start: Array  # byte address in the space
    size: Array  # bytes


@dataclass(frozen=True)
class Started(Event):
    """N asynchronous operations have been issued: bulk copies, or wgmma of warpgroups. From now
    until they are finished they may read and write these bytes at any time. int64 (N,) arrays."""

    ticket: Array  # a number for each, unique within the launch
    block: Array  # of the issuing thread, within the chunk; of the first one of a warpgroup
    thread: Array
    reads: tuple[Stretches, ...]
    writes: tuple[Stretches, ...]
    # of wgmma: its tiles in shared memory, and which warpgroups add to what their registers hold
    product: Any = None


@dataclass(frozen=True)
class Finished(Event):
    """Of N operations that were started, all is done, or the reading at least. They report to
    memory barriers (`row`, `address`), or threads have waited for them (`mask`). The instruction
    is the operation's own, or the one that waited."""

    ticket: Array  # int64 (N,)
    reading_only: bool
    row: Array | None  # the block of the chunk that the memory barrier lies in, int64 (N,)
    address: Array | None  # int64 (N,), in shared memory
    mask: Array | None  # bool (B, T)


@dataclass(frozen=True)
class MemoryBarrier(Event):
    """N threads, or operations that report, have done something with an mbarrier object. int64
    (N,) arrays."""

    # "init", "inval", "arrive" (also with a drop), "expect" (bytes; before an "arrive" of one
    # instruction), "complete" (bytes), "phase" (the current one is over), "wait" (for those that
    # found theirs over, "look" for those that did not)
    what: str
    row: Array  # the block of the chunk that the object lies in
    address: Array  # in shared memory
    block: Array  # of the thread, within the chunk; that of the object for "phase"
    thread: Array  # -1 for "complete" and "phase"
    count: Array  # arrivals or bytes; of "wait", "look" and "phase" the parity of the phase


@dataclass(frozen=True)
class Barrier(Event):
    """The threads of the mask have all reached the barrier and go on. `waited`: at which
    instructions, each with its threads; empty when all waited at `instruction`."""

    number: int
    mask: Array | None
    count: int | None = None  # the threads that it takes; None: all of the block
    waited: tuple[tuple[Instruction, Array], ...] = ()


@dataclass(frozen=True)
class ClusterBarrier(Event):
    """barrier.cluster: the threads of the mask have arrived, or go on after their wait."""

    what: str  # "arrive", "wait"
    phase: Array  # int64 (B,), from 0: the one that they arrive in, or that is over
    mask: Array | None


@dataclass(frozen=True)
class Arrived(Event):
    """bar.arrive: the threads of the mask count as arrived and do not wait."""

    number: int
    mask: Array | None


@dataclass(frozen=True)
class Fenced(Event):
    """membar or fence: the threads of the mask have passed it."""

    mask: Array | None


@dataclass(frozen=True)
class WarpSync(Event):
    """shfl, vote, redux or bar.warp.sync: lanes have waited for those of their member mask."""

    members: Array  # uint32 (B, T): a bit for each lane of the warp
    mask: Array | None
    sources: Array | None = None  # of shfl: the lane that each reads, (B, T)


@dataclass(frozen=True)
class Heaped:
    """malloc has given a stretch of global memory to a thread, or free has taken it back."""

    home: Allocation
    freed: bool
    blocks: Array
