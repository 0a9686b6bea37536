"""The asynchronous proxy: copies that run on their own, from when they are issued to when they
land.

An operation reports to an mbarrier object, or belongs to a bulk group of the thread that issued
it. What it does late, it does as late as may be, so that a kernel which forgets to wait computes
with what was there before:

- An operation that reports to an mbarrier lands when a thread looks for the end of a phase of that
  object that has not ended. All that report to it land then, in the order of issue.
- An operation of a bulk group reads its source when the thread waits for the group (also with
  `.read`), and writes when it waits without `.read`. When all threads of a block have exited, what
  they left is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..aliases import Array, State
from ..memory.events import Finished
from ..memory.remote_shared import Places
from ..text.syntax import Instruction
from . import mbarriers

Act = Callable[[Array], None]  # on operations with these numbers


@dataclass
class Flight:
    """N operations of one instruction that report to mbarriers."""

    barriers: Places  # that they report to, and who issued them
    land: Act  # does what those with these numbers (ascending) do
    size: Array | None  # bytes that each completes; None: `land` says itself what is done
    ticket: Array | None  # as in their Started event; None if there was none
    left: Array  # bool (N,): those under way


@dataclass
class Batch:
    """Operations of one instruction that belong to bulk groups, at most one for each thread.
    `read` and `write` take the numbers of the operations that they do."""

    instruction: Instruction
    read: Act
    write: Act
    number: Array  # of each thread's operation, or -1: int64 (B, T)
    ticket: Array  # of each operation
    unread: Array  # bool (B, T)


class Groups:
    """What has been issued in a chunk and not been waited for, in groups, counted for each
    thread. An operation is anything; masks are bool (B, T)."""

    def __init__(self) -> None:
        self.open: list[Any] = []  # (operation, threads): not yet committed
        self.closed: list[Any] = []  # [operations, threads that committed them], oldest first

    def add(self, operation: Any, threads: Array) -> None:
        self.open.append((operation, threads))

    def commit(self, threads: Array) -> None:
        mine = self.open  # of other threads too, which the group does not have
        left = ((operation, owners & ~threads) for operation, owners in mine)
        self.open = [each for each in left if each[1].any()]
        self.closed.append([mine, threads.copy()])

    def older(
        self, threads: Array, pending: int, keep: bool = False
    ) -> Iterator[tuple[Any, Array]]:
        """The operations, oldest first, of all but the newest `pending` groups of each of these
        threads, and whose they are. The groups are forgotten then, unless they are kept."""
        newer = np.zeros(threads.shape, np.int64)
        ripe = []
        for operations, owners in reversed(self.closed):
            done = owners & threads & (newer >= pending)
            newer += owners
            if done.any():
                ripe.append((operations, done))
                if not keep:
                    owners &= ~done
        self.closed = [group for group in self.closed if group[1].any()]
        for operations, done in reversed(ripe):
            for operation, owners in operations:
                if (owners & done).any():
                    yield operation, owners & done

    def of(self, threads: Array) -> Iterator[tuple[Any, Array]]:
        """All operations of these threads, oldest first."""
        for operations, committed in [*self.closed, (self.open, threads)]:
            for operation, owners in operations:
                if (mine := owners & committed & threads).any():
                    yield operation, mine

    def forget(self, over: Callable[[Any], bool]) -> None:
        """Take out the operations that are over, though nobody has waited for their groups."""
        self.open = [each for each in self.open if not over(each[0])]
        for group in self.closed:
            group[0] = [each for each in group[0] if not over(each[0])]

    def __bool__(self) -> bool:
        return bool(self.open or self.closed)


class Flights:
    """What has been issued in a chunk and has not landed."""

    def __init__(self) -> None:
        self.reporting: list[Flight] = []
        self.bulk = Groups()

    def add(
        self, barriers: Places, land: Act, size: Array | None = None, ticket: Array | None = None
    ) -> None:
        """Operations that report to mbarriers: `land(numbers)` writes what they write, then so
        many bytes of each are complete."""
        left = np.ones(len(barriers), bool)
        self.reporting.append(Flight(barriers, land, size, ticket, left))

    def land(self, at: Places) -> None:
        """Land all that report to these objects."""
        if not self.reporting:
            return
        keys = np.unique(at.key)
        for flight in list(self.reporting):
            now = np.flatnonzero(flight.left & np.isin(flight.barriers.key, keys))
            if not now.size:
                continue
            flight.left[now] = False
            flight.land(now)
            barriers = flight.barriers[now]
            if flight.ticket is not None:
                what = flight.ticket[now], False, barriers.row, barriers.address, None
                at.state.tell(Finished, barriers.i, *what)
            if flight.size is not None:
                mbarriers.complete(barriers, flight.size[now])
        self.reporting = [flight for flight in self.reporting if flight.left.any()]

    def add_to_group(self, issuers: Places, read: Act, write: Act, ticket: Array) -> None:
        """Operations of N threads, to be committed to bulk groups."""
        number = np.full(issuers.state.shape, -1)
        number[issuers.block, issuers.thread] = np.arange(len(issuers))
        self.bulk.add(Batch(issuers.i, read, write, number, ticket, number >= 0), number >= 0)

    def wait(
        self, i: Instruction, state: State, threads: Array, pending: int, reading_only: bool
    ) -> None:
        """Do all but the newest `pending` groups of each of these threads, or read at least."""
        for batch, whose in self.bulk.older(threads, pending, keep=reading_only):
            self._finish(i, state, batch, whose, reading_only)

    def leave(self, state: State) -> None:
        """Do what the threads of blocks that are over have left."""
        if not self.bulk:
            return
        over = np.broadcast_to(~state.alive.any(1)[:, None], state.shape)
        self.bulk.commit(over)
        for batch, whose in self.bulk.older(over, 0):
            self._finish(batch.instruction, state, batch, whose, False)

    def _finish(
        self, i: Instruction, state: State, batch: Batch, threads: Any, reading_only: bool
    ) -> None:
        reading = threads & batch.unread
        if reading.any():
            batch.unread &= ~reading
            batch.read(batch.number[reading])
        if not reading_only:
            state.changed = True
            batch.write(batch.number[threads])
        done = reading if reading_only else threads
        if done.any():
            ticket = batch.ticket[batch.number[done]]
            state.tell(Finished, i, ticket, reading_only, None, None, done)
