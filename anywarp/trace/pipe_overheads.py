"""What the data pipe carries beside the loads and stores of a trace, by cause, in wavefronts.

Exchanges, fences and barriers go through it as well. Measured with Nsight Compute on an H200, on
kernels that have little else (`tests/anywarp/trace/test_pipe_overheads.py`):

- a warp takes one for shfl or movmatrix, for a load or store of shared memory and a store to
  global memory that none of its lanes takes part in, for the commit of a group of cp.async, and
  for a wait for all of them; none for a wait for a group, vote, match, redux, elect, and for bulk
  copies;
- a warp's fence takes 5 if it is for the GPU, 3 for the block, 4 if it orders the asynchronous
  proxy; what it releases to a cluster takes 3, what it acquires from one 2, as a wait for bulk
  copies does. Where there are mbarriers, ptxas puts a fence for the block before the release;
- at a barrier of the block, and at an arrival at an mbarrier, what has gone into the pipe is waited
  for: 2, or none if nothing has gone in since the last time. A block's first barrier takes 3 in
  the first launch that ncu counts in a process, and in all launches where ncu has to run a kernel
  several times for its counters: so PIPE is counted by itself.

How often a warp reads threadIdx, one wavefront each, only machine code tells:
`sass.hot_loop.thread_index_reads`. Not modelled: warps whose fences for the block meet share some
wavefronts, which differs from launch to launch, and arrivals at mbarriers do; asynchronous
operations on the shared memory of other blocks, and atomics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .. import analysis, ptx
from ..analysis.warps import Ints, whole_mask
from ..ptx.memory.events import ClusterBarrier, MemoryBarrier
from ..ptx.text import isa
from ..ptx.text.syntax import Function, Instruction

LOADS_AND_STORES = "loads and stores"
THREAD_INDEX, INACTIVE, OTHER_BLOCKS = "threadIdx", "no lane active", "other blocks"
EXCHANGES, COPIES, FENCES, BARRIERS = "exchanges", "groups of copies", "fences", "barriers"

EACH = {
    "shfl": (EXCHANGES, 1),
    "movmatrix": (EXCHANGES, 1),
    "cp.async.commit_group": (COPIES, 1),
    "cp.async.wait_all": (COPIES, 1),
    "cp.async.mbarrier": (COPIES, 1),
    "cp.async.bulk.wait_group": (COPIES, 2),
    "fence.mbarrier_init": (FENCES, 1),
}
GPU_FENCE, BLOCK_FENCE, PROXY_FENCE = 5, 3, 4
RELEASE, ACQUIRE = 3, 2
WAIT = 2


def of_a_warp(i: Instruction) -> tuple[str, int] | None:
    """Cause and wavefronts of a warp that executes the instruction; None if it takes none."""
    name, modifiers = isa.name(i), set(i.modifiers)
    if name in EACH and "read" not in modifiers:
        return EACH[name]
    if i.opcode == "fence" and "proxy" in modifiers:
        return None if "global" in modifiers else (FENCES, PROXY_FENCE)
    if i.opcode in ("fence", "membar") and name not in EACH:
        return FENCES, BLOCK_FENCE if "cta" in modifiers else GPU_FENCE
    return None


class PipeOverheads:
    """Hears what happens and adds up `wavefronts` by cause."""

    def __init__(self, functions: Iterable[Function]) -> None:
        self.wavefronts: Counter[str] = Counter()
        self.warps = 0
        self.cluster = False
        code = [i for function in functions for i in function.instructions]
        self.release = RELEASE + BLOCK_FENCE * any(i.opcode == "mbarrier" for i in code)
        self.runs: dict[int, list[tuple[str, int]]] = {}  # by id() of a first instruction
        self.used = np.empty(0, bool)  # by block: the pipe, since it was waited for

    def hear(self, event: Any) -> None:
        """Any event of the run."""
        if hear := HEARD.get(type(event)):
            hear(self, event)

    def launched(self, event: ptx.Launched) -> None:
        """Comes first."""
        blocks = int(np.prod(event.grid))
        self.warps = blocks * -(-int(np.prod(event.block)) // analysis.LANES)
        self.used = np.ones(blocks, bool)  # threadIdx is read through it
        self.cluster = event.cluster != (1, 1, 1)

    def executed(self, event: ptx.Executed) -> None:
        """A straight run of instructions."""
        key = id(event.instructions[0]) if event.instructions else -1
        if key not in self.runs:
            self.runs[key] = list(filter(None, map(of_a_warp, event.instructions)))
        for cause, each in self.runs[key]:
            self._add(event, cause, each)

    def access(self, event: ptx.Access) -> None:
        """What reaches other blocks takes wavefronts that no counter of shared memory has."""
        if event.space in ("param", "const", "arguments"):
            return
        self.used[_blocks(event)] = True
        if event.rows is not None and event.kind in ("load", "store"):
            others, shape = event.own(False), (len(event.blocks), event.threads)
            addresses, active = analysis.by_warp(others.address, others.mask, *shape)
            taken = analysis.wavefronts(addresses, event.width, active, "store")
            self.wavefronts[OTHER_BLOCKS] += int(taken.sum())

    def barrier(self, event: ptx.Barrier) -> None:
        """Threads have met."""
        self._wait(_blocks(event))

    def cluster_barrier(self, event: ClusterBarrier) -> None:
        """One of a launch without clusters is a barrier of the block."""
        if not self.cluster:
            if event.what == "wait":
                self._wait(_blocks(event))
        elif event.what == "wait":
            self._add(event, FENCES, ACQUIRE)
        elif "relaxed" not in event.instruction.modifiers:
            self._add(event, FENCES, self.release)

    def memory_barrier(self, event: MemoryBarrier) -> None:
        """Threads arrive at an mbarrier."""
        if event.what == "arrive" and "expect_tx" not in event.instruction.modifiers:
            self._wait(event.blocks[np.unique(event.block)])

    def _add(self, event: ptx.Executed | ClusterBarrier, cause: str, each: int) -> None:
        """For each warp that takes part in the event."""
        _, active = analysis.by_warp(0, event.mask, len(event.blocks), event.threads)
        self.wavefronts[cause] += each * int(active.any(-1).sum())
        self.used[_blocks(event)] = True

    def _wait(self, blocks: Ints) -> None:
        self.wavefronts[BARRIERS] += WAIT * int(self.used[blocks].sum())
        self.used[blocks] = False


HEARD: dict[type, Callable[[PipeOverheads, Any], None]] = {
    ptx.Launched: PipeOverheads.launched,
    ptx.Executed: PipeOverheads.executed,
    ptx.Access: PipeOverheads.access,
    ptx.Barrier: PipeOverheads.barrier,
    ClusterBarrier: PipeOverheads.cluster_barrier,
    MemoryBarrier: PipeOverheads.memory_barrier,
}


def _blocks(event: ptx.Executed | ptx.Access | ptx.Barrier | ClusterBarrier) -> Ints:
    """The numbers of the blocks with a thread that takes part."""
    if event.mask is None:
        return event.blocks
    return event.blocks[whole_mask(event.mask, (len(event.blocks), event.threads)).any(1)]
