"""Barriers and fences: what makes threads know of each other."""

from __future__ import annotations

import numpy as np

from .fences import scope_of
from .shadow import LANES


class Waits:
    """The part of the sanitizer's ear that hears of them; it has what `Checker` has."""

    def known_of_blocks(self, block, thread, other, strong: bool):
        """Up to which stamp threads (indices within the chunk) know threads of the grid that are
        of other blocks."""
        theirs, number = other // self.records.padded, other % self.records.padded
        known = self.fences.known(self.blocks[block], thread, theirs, number, strong)
        if self.meetings is not None:
            row = self.meetings.row[theirs]
            near = self.meetings.known(block, thread, np.maximum(row, 0), number)
            known = np.maximum(known, np.where(row >= 0, near, 0))
        return known

    def known_afar(self, block, thread, row, column):
        """The same of what runs on its own in other blocks of the chunk."""
        known = self.fences.known(self.blocks[block], thread, self.blocks[row], column, False)
        return np.maximum(known, self.meetings.known(block, thread, row, column))

    def horizon(self) -> int:
        """The stamp up to which nobody races any more in shared memory."""
        return int(self.order.base.min()) if self.meetings is None else 0

    # -- what is heard ----------------------------------------------------------------------

    def padded(self, mask):
        """A mask of the event's threads with the padding of the last warp: (B, padded)."""
        full = np.zeros((len(self.blocks), self.records.padded), bool)
        full[:, : self.threads] = True if mask is None else mask
        return full

    def barrier(self, event) -> None:
        mask = np.broadcast_to(
            True if event.mask is None else event.mask, (len(self.blocks), self.threads)
        )
        going = mask.any(1)
        if event.count is not None and not mask[going].all():  # the others may have arrived
            padded = self.padded(event.mask)
            if self.fences:
                self.fences.gather(np.where(padded, 0, -1))
            self.order.some_wait(event.number, padded, self.now())
            return
        if self.fences:
            self.fences.gather_block(going)
        self.order.all_wait(going, self.now())
        self.shadows["shared"].forget(self.horizon())
        self.convergence.barrier(event, mask, going)

    def cluster_barrier(self, event) -> None:
        mask = self.padded(event.mask)
        if self.meetings is None:  # clusters of one block
            if event.what == "wait":
                self.order.all_wait(mask[:, : self.threads].all(1), self.now())
        elif event.what == "wait":
            self.meetings.wait(event.phase, mask)
        else:
            tells = "relaxed" not in event.instruction.modifiers
            self.meetings.arrive(event.phase, mask, self.now(), tells)

    def arrived(self, event) -> None:
        self.order.arrive(event.number, self.padded(event.mask), self.now())

    def warp_sync(self, event) -> None:
        members = np.zeros((len(self.blocks), self.records.padded), np.uint32)
        members[:, : self.threads] = event.members
        mask = self.padded(event.mask)
        if self.fences:
            warp = np.arange(self.records.padded) // LANES << 32
            self.fences.gather(np.where(mask, warp | members, -1))
        self.order.lanes_wait(members, mask, self.now())
        self.convergence.lanes(event)
        if event.sources is not None:
            self.strays.shuffled(event)

    def fenced(self, event) -> None:
        words = set(event.instruction.modifiers)
        proxy = "proxy" in {word.split("::")[0] for word in words}
        block, thread = np.nonzero(self.padded(event.mask))
        if "mbarrier_init" in words or shows_shared(words):
            self.objects.fence(block, thread, self.now())
        if shows_shared(words):
            self.order.fence_own("async", block, thread, self.now())
        if self.fences and not proxy:
            scope = scope_of(event.instruction)
            self.fences.fence(scope, block, thread, self.now())


def shows_shared(words) -> bool:
    """Whether a fence shows the asynchronous proxy what a thread has stored in shared memory."""
    named = {word.split("::")[0] for word in words}
    return {"proxy", "async"} <= named and words & {"global"} == set()
