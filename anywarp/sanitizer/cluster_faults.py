"""Order across the blocks of a cluster: its barrier, and memory barriers that others arrive at.

A thread that goes on after a barrier.cluster knows of every thread of the cluster what that did
before it arrived. What threads know of other blocks they tell by memory barriers too: then it goes
the way of fences (see `fences`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..analysis.warps import Ints, Mask
from .fences import Fences
from .happens_before import Order
from .shadow import Records

PHASES = 4  # of a cluster's barrier that are remembered; threads are at most one apart


class Meetings:
    """What the threads of a chunk know by the barriers of their clusters."""

    def __init__(self, order: Order, blocks: Ints, size: int, grid: int) -> None:
        self.order, self.size = order, size
        self.row = np.full(grid, -1)  # of a block of the grid, in the chunk
        self.row[blocks] = np.arange(len(blocks))
        shape = PHASES, len(blocks), order.padded
        self.came = np.zeros(shape, np.int64)  # the stamp at which a thread arrived in a phase
        self.told: dict[str, np.ndarray] = {}  # table of `Order` -> what was told in a phase
        self.waited = np.full(shape[1:], -1)  # the last phase that a thread has waited for

    def arrive(self, phase: Ints, mask: Mask, stamp: int, tells: bool) -> None:
        """The threads of the mask (B, T) arrive, and tell what they know."""
        block, thread = np.nonzero(mask)
        self.came[phase[block] % PHASES, block, thread] = stamp
        rows, group = np.unique(block, return_inverse=True)
        turn = phase[rows] % PHASES
        for every in self.told.values():  # what was told in the phase before stays told
            every[turn, rows] = np.maximum(every[turn, rows], every[turn - 1, rows])
        if not tells:
            return
        for name, news in self.order.told(block, thread, group, stamp):
            if name not in self.told:
                self.told[name] = np.zeros((PHASES, len(mask), news.shape[1]), np.int32)
            self.told[name][turn, rows] = np.maximum(self.told[name][turn, rows], news)

    def wait(self, phase: Ints, mask: Mask) -> None:
        """The threads of the mask go on."""
        block, thread = np.nonzero(mask)
        self.waited[block, thread] = phase[block]
        for name, told in self.told.items():
            news = told[phase % PHASES, np.arange(len(phase))]
            self.order.learn(name, block, thread, news, block)

    def has_come(self, block: Ints, thread: Ints, owner: Ints) -> np.ndarray:
        """The stamp at which threads of the same block had arrived, relaxed or not, in the phase
        that others have waited for last."""
        phase = self.waited[block, thread]
        return np.where(phase >= 0, self.came[phase % PHASES, block, owner], 0)

    def known(self, block: Ints, thread: Ints, other_row: Ints, other: Ints) -> np.ndarray:
        """Up to which stamp threads know those of other blocks of the chunk; 0 of other
        clusters. `other`: threads, or columns after theirs."""
        phase = self.waited[block, thread]
        together = (block // self.size == other_row // self.size) & (phase >= 0)
        if "known" not in self.told:
            return np.zeros(together.shape, np.int64)
        return np.where(together, self.told["known"][phase % PHASES, other_row, other], 0)


class Visits:
    """Accesses to the shared memory of other blocks, which must have begun and not exited."""

    def __init__(self, shape: tuple[int, int], size: int) -> None:
        self.size = size
        self.last = np.zeros((size, *shape), np.int64)  # record of a thread's last, by rank
        self.address = np.zeros((size, *shape), np.int64)

    def add(self, row: Ints, block: Ints, thread: Ints, address: Ints, record: Ints) -> None:
        """Threads of blocks reach an address in the blocks `row`; the last time counts."""
        self.last[row % self.size, block, thread] = record
        self.address[row % self.size, block, thread] = address

    def open(
        self, blocks: Ints, records: Records, meetings: Meetings, fences: Fences
    ) -> Iterator[tuple[int, int, int, int, int]]:
        """Yield (row, block, thread, record, address) of visits that no thread of the block they
        went to knows of at its end."""
        rank, block, thread = np.nonzero(self.last)
        row = block // self.size * self.size + rank
        record, address = self.last[rank, block, thread], self.address[rank, block, thread]
        phase = meetings.waited.max(1)[row]
        known = np.where(phase >= 0, meetings.came[phase % PHASES, block, thread], 0)
        for n in np.flatnonzero(records.stamp(record) > known).tolist():
            here = int(blocks[block[n]])
            if fences.told_to(int(row[n]), here, int(thread[n])) < records.stamp(record[n]):
                yield row[n], block[n], thread[n], record[n], address[n]
