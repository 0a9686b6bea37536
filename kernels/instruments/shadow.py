"""Shadow memory: for each cell, who touched it last.

Every access has a stamp, 1, 2, 3, … in the order of the run. A record packs the stamp of an
access with its thread into one integer, so that a cell's history is a few numbers and a later
record is the larger one. Like FastTrack (C. Flanagan, S. Freund, PLDI 2009), this keeps single
records where others keep clocks of all threads.
"""

from __future__ import annotations

import numpy as np

from ..ptx.memory import UNSIGNED
from ..ptx.warp import LANES


class Records:
    """Packs (stamp, thread of the grid). Blocks are padded to whole warps, so that a thread's
    number also tells its warp and its block."""

    def __init__(self, blocks: int, threads: int):
        self.padded = -(-threads // LANES) * LANES  # threads of a block, and the padding
        self.bits = (blocks * self.padded).bit_length()
        self.threads = (1 << self.bits) - 1  # selects the thread

    def pack(self, stamp: int, thread):
        return thread | (stamp << self.bits)

    def thread(self, record):
        return record & self.threads

    def stamp(self, record):
        return record >> self.bits


class Latest:
    """For each cell the last record, and the last before it of another thread of the same group
    and of another group. (A group is a warp in shared memory, a block in global memory.)

    With two threads since the last barrier there are two in here, so that a thread which writes
    finds one that is not itself."""

    def __init__(self, records: Records, cells: int, group: int):
        self.records, self.group = records, group
        self.last, self.near, self.far = (np.zeros(cells, np.int64) for _ in range(3))
        self.used = False

    def add(self, cell, record) -> None:
        self.used = True
        before = self.last[cell]
        self.last[cell] = record
        top = self.records.thread(self.last[cell])  # of several lanes, one is in
        for one in (before, record):
            thread = self.records.thread(one)
            others = np.flatnonzero((thread != top) & (one > 0))
            if others.size:
                near = thread[others] // self.group == top[others] // self.group
                self.near[cell[others[near]]] = one[others[near]]
                self.far[cell[others[~near]]] = one[others[~near]]

    def columns(self):
        return self.last, self.near, self.far


class Shadow:
    """The shadow of one space: cells of `grain` bytes, in rows of `cells`."""

    def __init__(self, records: Records, rows: int, size: int, grain: int, group: int, flights):
        self.grain, self.cells = grain, -(-size // grain)
        total = rows * self.cells
        self.filled: np.ndarray | None = np.zeros(total, bool)  # None: everything is
        if group:  # others can reach it too
            self.written = np.zeros(total, np.int64)
            self.value = np.zeros(total, UNSIGNED[grain])
            self.strong = Latest(records, total, group)
            self.readers = Latest(records, total, group)
            self.strong_readers = Latest(records, total, group)
            self.flying = np.zeros(total, np.int64) if flights else None


class Lanes:
    """The active threads of an event, flat, an element for each cell that they touch."""

    def __init__(self, event, shadow: Shadow, space: str):
        shape = len(event.blocks), event.threads
        mask = np.ones(shape, bool) if event.mask is None else np.broadcast_to(event.mask, shape)
        self.mask = mask
        block, thread = np.nonzero(mask)
        address = np.broadcast_to(event.address, shape)[mask]
        per_lane = -(-event.width // shadow.grain)
        row = {"global": 0, "shared": block, "local": block * event.threads + thread}[space]
        first = row * shadow.cells + address // shadow.grain
        self.cell = (first[:, None] + np.arange(per_lane)).ravel()
        self.address = (address[:, None] + shadow.grain * np.arange(per_lane)).ravel()
        self.block, self.thread = np.repeat(block, per_lane), np.repeat(thread, per_lane)

    def values(self, event, grain: int):
        """What each cell gets, unsigned."""
        stack = [np.broadcast_to(v, self.mask.shape)[self.mask] for v in event.values]
        return np.ascontiguousarray(np.stack(stack, 1)).view(UNSIGNED[grain]).ravel()
