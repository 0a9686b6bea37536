"""Barriers and fences: what makes threads know of each other."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from ..analysis.warps import LANES, Ints, whole_mask
from ..ptx.memory.events import Arrived, Barrier, ClusterBarrier, Fenced, WarpSync
from .convergence import Convergence
from .fences import scope_of
from .mbarrier_faults import MemoryBarriers
from .reports import Reports


class Waits(Reports):
    """The part of the sanitizer's ear that hears of them."""

    convergence: Convergence
    barriers: MemoryBarriers

    def known_of_blocks(
        self, block: Ints, thread: Ints, theirs: Ints, number: Ints, strong: bool = False
    ) -> Any:
        """Up to which stamp threads (indices within the chunk) know the threads `number`, or what
        runs on its own in that column, of other blocks of the grid."""
        known = self.fences.known(block, thread, theirs, number, strong)
        if self.meetings is not None:
            row = self.meetings.row[theirs]
            near = self.meetings.known(block, thread, np.maximum(row, 0), number)
            known = np.maximum(known, np.where(row >= 0, near, 0))
        return known

    def horizon(self) -> int:
        """The stamp up to which nobody races any more in shared memory."""
        return int(self.order.base.min()) if self.meetings is None else 0

    # -- what is heard ----------------------------------------------------------------------

    def padded(self, values: Ints | None, dtype: type = bool) -> np.ndarray:
        """What the threads have, such as a mask, with zeros for the padding of the last warp:
        (B, padded)."""
        full: np.ndarray = np.zeros((len(self.blocks), self.records.padded), dtype)
        full[:, : self.threads] = True if values is None else values
        return full

    def barrier(self, event: Barrier) -> None:
        """Threads have met at a barrier of their block."""
        mask = whole_mask(event.mask, self.shape)
        going = np.logical_or.reduce(mask, 1)
        if event.count is not None and not mask[going].all():  # the others may have arrived
            padded = self.padded(event.mask)
            self.fences.gather(np.where(padded, 0, -1))
            self.order.some_wait(event.number, padded, self.now())
            return
        self.fences.gather_block(going)
        self.order.all_wait(going, self.now())
        self.shadows["shared"].forget(self.horizon())
        self.convergence.barrier(event, mask, going)

    def cluster_barrier(self, event: ClusterBarrier) -> None:
        """Threads arrive at a barrier of their cluster, or go on."""
        mask = self.padded(event.mask)
        if self.meetings is None:  # clusters of one block
            if event.what == "wait":
                self.order.all_wait(np.logical_and.reduce(mask[:, : self.threads], 1), self.now())
        elif event.what == "wait":
            self.meetings.wait(event.phase, mask)
        else:
            tells = "relaxed" not in event.instruction.modifiers
            self.meetings.arrive(event.phase, mask, self.now(), tells)

    def arrived(self, event: Arrived) -> None:
        """Threads arrive at a barrier and do not wait."""
        self.order.arrive(event.number, self.padded(event.mask), self.now())

    def warp_sync(self, event: WarpSync) -> None:
        """Lanes have waited for one another."""
        members = self.padded(event.members, np.uint32)
        mask = self.padded(event.mask)
        warp = np.arange(self.records.padded, dtype=np.int64) // LANES << 32
        self.fences.gather(np.where(mask, warp | members, -1))
        self.order.lanes_wait(members, mask, self.now())
        self.convergence.lanes(event)
        if event.sources is not None:
            self.strays.shuffled(event)

    def fenced(self, event: Fenced) -> None:
        """Threads have passed a fence."""
        words = {word.split("::")[0] for word in event.instruction.modifiers}
        block, thread = np.nonzero(self.padded(event.mask))
        if "mbarrier_init" in words or shows_shared(words):
            self.barriers.fence(block, thread, self.now())
        if shows_shared(words):
            self.order.fence_own("async", block, thread, self.now())
        if "proxy" not in words:
            self.fences.fence(scope_of(event.instruction), block, thread, self.now())


def shows_shared(words: Collection[str]) -> bool:
    """Whether a fence of such modifiers shows the asynchronous proxy what a thread has stored in
    shared memory."""
    return {"proxy", "async"} <= set(words) and "global" not in words
