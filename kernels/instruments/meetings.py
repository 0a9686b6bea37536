"""Order across the blocks of a cluster: its barrier, and memory barriers that others arrive at.

A thread that goes on after a barrier.cluster knows of every thread of the cluster what that did
before it arrived. What threads know of other blocks they tell by memory barriers too: then it goes
the way of fences (see `fences`).
"""

from __future__ import annotations

import numpy as np

PHASES = 4  # of a cluster's barrier that are remembered; threads are at most one apart


class Meetings:
    """What the threads of a chunk know by the barriers of their clusters."""

    def __init__(self, order, blocks, size: int, grid: int):
        self.order, self.size = order, size
        self.row = np.full(grid, -1)  # of a block of the grid, in the chunk
        self.row[blocks] = np.arange(len(blocks))
        shape = PHASES, len(blocks), order.padded
        self.came = np.zeros(shape, np.int64)  # the stamp at which a thread arrived in a phase
        self.told = np.zeros(shape, np.int64)  # and told what it had done
        self.landed = np.zeros((*shape[:2], order.landed.shape[1]), np.int64)
        self.waited = np.full(shape[1:], -1)  # the last phase that a thread has waited for

    def arrive(self, phase, block, thread, stamp: int, tells: bool) -> None:
        """Threads arrive, and tell what they know."""
        turn = phase[block] % PHASES
        self.came[turn, block, thread] = stamp
        if tells:
            self.told[turn, block, thread] = stamp
            columns = np.arange(self.landed.shape[2])
            known = self.order.knows_landed(block[:, None], thread[:, None], columns)
            np.maximum.at(self.landed, (turn, block), known)

    def wait(self, phase, mask) -> None:
        """The threads of the mask (B, T), of which the padding of a warp is none, go on."""
        block, thread = np.nonzero(mask)
        self.waited[block, thread] = phase[block]
        turn = phase % PHASES
        rows = np.arange(len(phase))
        told, landed = self.told[turn, rows], self.landed[turn, rows]
        self.order.learn(block, thread, slice(None), np.concatenate([told, landed], 1)[block])

    def known(self, block, thread, other_row, other):
        """Up to which stamp threads know those of other blocks of the chunk; 0 of other
        clusters. `other`: threads, or columns after theirs."""
        phase = self.waited[block, thread]
        together = (block // self.size == other_row // self.size) & (phase >= 0)
        turn, padded = phase % PHASES, self.order.padded
        found = self.told[turn, other_row, np.minimum(other, padded - 1)]
        if self.landed.shape[2]:
            landed = self.landed[turn, other_row, np.maximum(other - padded, 0)]
            found = np.where(other < padded, found, landed)
        return np.where(together, found, 0)


class Visits:
    """Accesses to the shared memory of other blocks, which must have begun and not exited."""

    def __init__(self, shape: tuple[int, int], size: int):
        self.size = size
        self.last = np.zeros((size, *shape), np.int64)  # record of a thread's last, by rank
        self.address = np.zeros((size, *shape), np.int64)

    def add(self, row, block, thread, address, record) -> None:
        self.last[row % self.size, block, thread] = record
        self.address[row % self.size, block, thread] = address

    def open(self, blocks, records, meetings, fences):
        """Yield (row, block, thread, record, address) of visits that no thread of the block they
        went to knows of at its end."""
        rank, block, thread = np.nonzero(self.last)
        row = block // self.size * self.size + rank
        record, address = self.last[rank, block, thread], self.address[rank, block, thread]
        phase = meetings.waited.max(1)[row]
        known = np.where(phase >= 0, meetings.came[phase % PHASES, block, thread], 0)
        for n in np.flatnonzero(records.stamp(record) > known).tolist():
            there, here = int(blocks[row[n]]), int(blocks[block[n]])
            if fences.told_to(there, here, int(thread[n])) < records.stamp(record[n]):
                yield row[n], block[n], thread[n], record[n], address[n]
