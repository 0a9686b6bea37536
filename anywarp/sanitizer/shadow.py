"""Shadow memory: for each cell, who touched it last.

Every access has a stamp, 1, 2, 3, … in the order of the run. A record packs the stamp of an
access with its thread into one integer, so that a cell's history is a few numbers and a later
record is the larger one. Like FastTrack (C. Flanagan, S. Freund, PLDI 2009), this keeps single
records where others keep clocks of all threads.
"""

from __future__ import annotations

import functools
import mmap
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..analysis.warps import LANES, Ints, whole_mask
from ..ptx.memory.allocations import UNSIGNED, Allocation
from ..ptx.memory.events import Access, Landed

STRETCH = 4  # cells that have one mark
PUT_OFF = 512  # reads of a chunk that are put off at most, each of 128 KiB of addresses or less


def zeros(cells: int, dtype: type = np.int64) -> np.ndarray:
    """Zeros. Pages of which nobody touches a cell take no memory, as arrays between others lie far
    apart, and all go back to the system at the end: `np.zeros` would fill and keep what was freed
    before (see `ptx.text.temporaries.keep_freed_memory`). Raises MemoryError."""
    size = max(1, cells * np.dtype(dtype).itemsize)
    try:
        return np.frombuffer(mmap.mmap(-1, size), dtype, cells)
    except OSError as error:  # in a browser: elsewhere memory is short when it is touched
        why = f"no memory for {size:,} bytes of what `sanitize` keeps: take a smaller product"
        raise MemoryError(why) from error


class Records:
    """Packs (stamp, thread of the grid), integers or arrays of them. Blocks are padded to whole
    warps, so that a thread's number also tells its warp and its block."""

    def __init__(self, blocks: int, threads: int) -> None:
        self.padded = -(-threads // LANES) * LANES  # threads of a block, and the padding
        self.bits = (blocks * self.padded).bit_length()
        self.threads = (1 << self.bits) - 1  # selects the thread

    def pack(self, stamp: int, thread: Any) -> Any:
        """The record of an access by a thread of the grid."""
        return thread | (stamp << self.bits)

    def thread(self, record: Any) -> Any:
        """The thread of the grid."""
        return record & self.threads

    def stamp(self, record: Any) -> Any:
        """The stamp of its access."""
        return record >> self.bits


class Latest:
    """For each cell the last record, and the last before it of another thread of the same group
    and of another group. (A group is a warp in shared memory, a block in global memory.)

    With two threads since the last barrier there are two in here, so that a thread which writes
    finds one that is not itself."""

    def __init__(self, records: Records, cells: int, group: int) -> None:
        self.records, self.cells, self.group = records, cells, group
        self.columns: tuple[np.ndarray, ...] = ()  # the three, once there is something to add

    def add(self, cell: Ints, record: Ints) -> None:
        """Records of accesses to cells come in, one stamp at a time."""
        if not self.columns:
            self.columns = tuple(zeros(self.cells) for _ in range(3))
        last, near, far = self.columns
        before = last[cell]
        last[cell] = record
        top = self.records.thread(last[cell])  # of several lanes, one is in
        for earlier in (before, record):
            thread = self.records.thread(earlier)
            others = np.flatnonzero((thread != top) & (earlier > 0))
            if others.size:
                close = thread[others] // self.group == top[others] // self.group
                near[cell[others[close]]] = earlier[others[close]]
                far[cell[others[~close]]] = earlier[others[~close]]


class Shadow:
    """The shadow of one space: cells of `grain` bytes, in rows of `cells`.

    Marks tell of each stretch of a row when any row was last written and read there. Where
    nothing was written since the last barrier a read cannot race, and it is put off: remembered,
    and entered into `readers` only when somebody writes there before the next barrier."""

    def __init__(
        self, records: Records, rows: int, size: int, grain: int, group: int, flights: bool
    ) -> None:
        self.records, self.grain = records, grain
        self.cells = -(-size // grain)
        self.shape, total = (rows, self.cells), rows * self.cells
        self.filled: Any = None  # bool (cells,); None: everything is
        if group:  # others can reach it too
            self.written = zeros(total)
            self.value = zeros(total, UNSIGNED[grain])
            self.strong = Latest(records, total, group)
            self.readers = Latest(records, total, group)
            self.strong_readers = Latest(records, total, group)
            self.flying: Any = zeros(total) if flights else None
            self.write_mark = np.zeros(self.cells // STRETCH + 1, np.int64)
            self.read_mark = np.zeros(self.cells // STRETCH + 1, np.int64)
            self.put_off: list[tuple[Access, int]] = []  # with their stamps
            self.copied: Any = None  # see `asynchronous`

    @functools.cached_property
    def stray(self) -> np.ndarray:
        """What values that nobody has defined have come to cells that are not filled: see
        `undefined`."""
        return zeros(self.filled.size)

    def watch_proxy(self) -> None:
        """Keep what `asynchronous` needs to know of each cell."""
        total = self.written.size
        self.copied, self.lent, self.barrier = zeros(total), zeros(total), zeros(total)
        self.factors = Latest(self.records, total, LANES)

    def supersede(self, cell: Ints) -> None:
        """Others than copies that have landed write to these cells."""
        if self.copied is not None:
            self.copied[cell] = 0

    def empty(self, allocations: Iterable[Allocation]) -> None:
        """Nobody has written to these."""
        if self.filled is None:
            self.filled = np.ones(self.shape, bool).ravel()
        rows = self.filled.reshape(self.shape)
        for a in allocations:
            rows[:, a.start // self.grain : -(-a.end // self.grain)] = False

    def fill(self, home: Allocation, written: Ints) -> None:
        """Of this allocation in global memory, these bytes have been written."""
        cells = np.ones(-(-home.size // self.grain) * self.grain, bool)
        cells[: written.size] = written
        first = home.start // self.grain
        whole = cells.reshape(-1, self.grain).all(1)
        self.filled[first : first + whole.size] = whole

    def filled_bytes(self, home: Allocation) -> np.ndarray:
        """Which bytes of this allocation in global memory have been written."""
        cells = self.filled[home.start // self.grain : -(-home.end // self.grain)]
        return np.repeat(cells, self.grain)[: home.size]

    def wipe(self, home: Allocation) -> None:
        """Forget who touched this allocation, which has come to its end."""
        where = np.s_[:, home.start // self.grain : -(-home.end // self.grain)]
        latest = (self.strong, self.readers, self.strong_readers)
        for table in (self.written, *(column for each in latest for column in each.columns)):
            table.reshape(self.shape)[where] = 0

    def stretches(self, event: Access | Landed) -> slice:
        """Where an event with active lanes is, in all rows together."""
        address = event.address
        if event.mask is not None:
            address = np.broadcast_to(address, event.mask.shape)[event.mask]
        return self.marks(slice(int(address.min()), int(address.max()) + event.width))

    def marks(self, where: slice) -> slice:
        """The marks of bytes."""
        bytes_of = STRETCH * self.grain
        return slice(where.start // bytes_of, (where.stop - 1) // bytes_of + 1)

    def is_filled(self, where: slice) -> bool:
        """Whether somebody has written all that lies there, in all rows."""
        return self.filled is None or bool(self._there(self.filled, where).all())

    def is_calm(self, where: slice, since: int) -> bool:
        """Whether nothing was written there after that stamp, and no copy is under way."""
        if (self.write_mark[where] > since).any():
            return False
        if self.copied is not None and self._there(self.copied, where).any():
            return False
        return self.flying is None or not self._there(self.flying, where).any()

    def _there(self, table: Ints, where: slice) -> np.ndarray:
        rows = table.reshape(self.shape)
        return rows[:, where.start * STRETCH : where.stop * STRETCH]

    def put_off_read(self, event: Access, where: slice, stamp: int) -> None:
        """Remember a read of these stretches."""
        self.read_mark[where] = stamp
        self.put_off.append((event, stamp))
        if len(self.put_off) > PUT_OFF:
            self.catch_up(event.space)

    def catch_up(self, space: str) -> None:
        """Enter the reads that were put off."""
        for event, stamp in self.put_off:
            lanes = Lanes(event, self, space)
            self.readers.add(lanes.cell, self.records.pack(stamp, lanes.me))
        self.forget(np.inf)

    def forget(self, stamp: float) -> None:
        """Reads up to that stamp race with nothing any more, or are entered."""
        self.put_off = [read for read in self.put_off if read[1] > stamp]


class Touched:
    """Cells that threads touch: int64 (N,), an element for each cell of each thread."""

    event: Any  # an Access, or `Issued`
    shadow: Shadow
    cell: np.ndarray
    address: np.ndarray
    block: np.ndarray  # of the thread, within the chunk
    thread: np.ndarray
    me: np.ndarray  # the thread's number in the grid
    row: np.ndarray  # the block of the chunk in whose memory the cell lies
    per_lane = 1  # cells of a thread, which are neighbours here

    @property
    def who(self) -> tuple[np.ndarray, np.ndarray]:
        """The block and the thread of each, once for all its cells."""
        return self.block[:: self.per_lane], self.thread[:: self.per_lane]


class Lanes(Touched):
    """The active threads of an event."""

    def __init__(self, event: Any, shadow: Shadow, space: str) -> None:
        self.event, self.shadow = event, shadow
        shape = len(event.blocks), event.threads
        self.mask = mask = None if event.mask is None else np.broadcast_to(event.mask, shape)
        if mask is None:
            block, thread = everybody(*shape)
            address = np.broadcast_to(event.address, shape).ravel()
        else:
            block, thread = np.nonzero(mask)
            address = np.broadcast_to(event.address, shape)[mask]
        self.per_lane = per_lane = -(-event.width // shadow.grain)
        first = address // shadow.grain
        rows = getattr(event, "rows", None)
        row = block if rows is None else np.broadcast_to(rows, shape)[block, thread]  # reached
        if space != "global":
            first += (row if space == "shared" else block * event.threads + thread) * shadow.cells
        me = event.blocks[block] * shadow.records.padded + thread
        if per_lane == 1:
            self.cell, self.address, self.block, self.thread = first, address, block, thread
            self.me, self.row = me, row
            return
        steps = np.arange(per_lane)
        self.cell = (first[:, None] + steps).ravel()
        self.address = (address[:, None] + shadow.grain * steps).ravel()
        self.block, self.thread = np.repeat(block, per_lane), np.repeat(thread, per_lane)
        self.me = np.repeat(me, per_lane)
        self.row = self.block if rows is None else np.repeat(row, per_lane)

    def values(self) -> np.ndarray:
        """What each cell gets from a store, unsigned."""
        shape = len(self.event.blocks), self.event.threads
        mask = whole_mask(self.mask, shape)
        stack = [np.broadcast_to(v, shape)[mask] for v in self.event.values]
        cells = np.ascontiguousarray(np.stack(stack, 1)).view(UNSIGNED[self.shadow.grain])
        return np.ravel(cells)


@functools.lru_cache(maxsize=8)
def everybody(blocks: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """The block and thread of each lane of a chunk, flat."""
    block, thread = np.divmod(np.arange(blocks * threads), threads)
    block.flags.writeable = thread.flags.writeable = False
    return block, thread
