"""Happens-before through memory: fences, and strong accesses to one place.

A fence lets a thread tell what it did and knew before it; a strong write after the fence tells
it to whoever reads the place strongly; and the reader relies on it after a fence of its own, or
a barrier. Acquire and release are a fence and an access in one. This is the release and acquire
pattern of the PTX memory model (PTX ISA, chapter 8), with these choices:

- What passed a fence may be told by others of the block too, once a barrier lies in between.
- The reader's fence may be a barrier: the last block of a reduction needs no other.
- Orders of scope cta hold in one block; those of a cluster too.
- A compare-and-swap that fails counts as a write.
- A write tells nothing, not of other strong accesses either, where the thread has passed no fence
  and no barrier after one, as those who wait for a lock for the first time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import reduce
from typing import Any

import numpy as np

from ..analysis.warps import Ints, Mask
from ..ptx.memory.events import Access
from ..ptx.text.syntax import Instruction
from .happens_before import Order, numbered

# What is known of blocks: for each, in the order in which they first told anything, the number of
# the state that it is known in; 0 for none.
Clock = np.ndarray  # int32
NOTHING: Clock = np.zeros(0, np.int32)
Thread = tuple[int, int]
Place = tuple[int, int]  # of a memory barrier: its block in the chunk, and its address

KINDS = "cta", "gpu"
ROOM = 4096  # states that are kept at least
PENDING = 64  # accesses that are put off at most
RELEASES, ACQUIRES = {"release", "acq_rel"}, {"acquire", "acq_rel"}


def scope_of(instruction: Instruction) -> tuple[str, ...]:
    """Whom an instruction orders: "cta", the block, and "gpu", unless it says less."""
    return KINDS[: 1 + {"cta", "cluster"}.isdisjoint(instruction.modifiers)]


class Fences:
    """What threads tell each other through memory. Threads are (block of the chunk, thread)."""

    def __init__(self) -> None:
        # (space, cell) -> what is told to the GPU; (space, cell, block of the grid) -> and to one
        self.told: dict[tuple[Any, ...], Clock] = {}
        # What is known of a block is one of its states: up to which stamps its threads are known,
        # (columns,), and their strong accesses. A state holds all of the block's from `low` of its
        # number on.
        self.column: dict[int, int] = {}  # of a block of the grid, in a clock
        self.states: dict[int, np.ndarray] = {}  # (2, columns), by number
        self.latest: dict[int, int] = {}  # the number of the last one, by column
        self.joined: dict[tuple[int, int], int] = {}  # the number of what two hold together
        self.low, self.room = np.zeros(ROOM, np.int32), ROOM
        self.merged: Any = NOTHING, NOTHING, NOTHING  # two clocks, and what they make together
        # (block, thread, scope) -> what is read but not yet relied upon
        self.heard: dict[tuple[int, int, str], Clock] = {}
        self.foreign: dict[Thread, Clock] = {}  # of other blocks
        self.shared: dict[int, Clock] = {}  # block of the grid -> what all its threads have of it
        self.sent: dict[Place, Clock] = {}  # to memory barriers
        self.over: dict[Place, Clock] = {}  # and that of their phases that are over
        # accesses whose part in this is put off, each with the tables of its chunk
        self.pending: list[Any] = []

    def begin_chunk(self, order: Order, blocks: Ints) -> None:
        """A chunk of blocks begins; what was told in global memory stays."""
        self.order, self.blocks = order, blocks.tolist()
        self.told = {key: clock for key, clock in self.told.items() if key[0] == "global"}
        self.pending = [each for each in self.pending if each[0][1] == "global"]
        self.heard, self.foreign, self.sent, self.over = {}, {}, {}, {}

    # -- what instructions do ---------------------------------------------------------------

    def fence(self, scope: Collection[str], block: Ints, thread: Ints, stamp: int) -> None:
        """Threads pass a fence; indices within the chunk."""
        self._rely(zip(block.tolist(), thread.tolist()), scope)
        for kind in scope:
            self.order.fence(kind, block, thread, stamp)

    def meet(
        self, event: Access, space: str, cell: Ints, block: Ints, thread: Ints, stamp: int
    ) -> None:
        """Threads access strongly a cell each, in turn."""
        words, scope = set(event.instruction.modifiers), scope_of(event.instruction)
        if words & RELEASES and event.kind != "load":
            self.fence(scope, block, thread, stamp)
        reads = event.kind != "store" and event.instruction.opcode != "red"
        for kind in scope:
            may = self.order.may_tell(kind, block, thread) & (event.kind != "load")
            if not self.told and not self.pending and not may.any():
                continue
            row_of, who = self.order.tells(kind, block, thread), (block, thread, cell, may)
            what = kind, space, who, reads, event.kind == "store", row_of, stamp
            self.pending.append((what, (self.blocks, self.foreign, self.heard)))
        if len(self.pending) > PENDING:
            self._settle()
        if words & ACQUIRES and event.kind != "store":
            self._rely(zip(block.tolist(), thread.tolist()), scope)

    def _settle(self) -> None:
        """What has been put off, if some of it, and then the last, is of this chunk. Many a kernel
        is over before anybody relies on it."""
        if self.pending and self.pending[-1][1][2] is self.heard:
            for what, chunk in self.pending:
                self.blocks, self.foreign, self.heard = chunk
                self._met(*what)
            self.pending = []

    def _met(
        self, kind: str, space: str, who: Any, reads: bool, stores: bool, row_of: Any, stamp: int
    ) -> None:
        """Threads have met at cells."""
        for n, (b, t, c, tells) in enumerate(zip(*(x.tolist() for x in who))):
            key = (space, c) if kind == "gpu" else (space, c, self.blocks[b])
            if reads and key in self.told:
                heard = self.heard.get((b, t, kind), NOTHING)
                self.heard[b, t, kind] = self._merge(heard, self.told[key])
            if stores:  # after an atomic operation it stands
                self.told.pop(key, None)
            if tells:
                self._tell(self.told, key, b, t, row_of(n), stamp)

    def gather(self, groups: Ints) -> None:
        """Groups (B, T) of numbers have waited for each other; -1 for who has not."""
        heard: dict[Thread, Clock] = {}
        threads = [who for who in self._hearing() if groups[who] >= 0]
        self._rely(threads, KINDS)
        for b, t in threads:
            group = b, int(groups[b, t])
            heard[group] = self._merge(heard.get(group, NOTHING), self.foreign.get((b, t), NOTHING))
        for (b, number), clock in heard.items():
            for t in np.flatnonzero(groups[b] == number).tolist():
                self.foreign[b, t] = clock

    def gather_block(self, going: Mask) -> None:
        """All threads of the blocks `going` (B,) have waited for each other."""
        threads = [who for who in self._hearing() if going[who[0]]]
        self._rely(threads, KINDS)
        for b, t in threads:
            self.shared[self.blocks[b]] = self._clock(b, t)
            self.foreign.pop((b, t), None)

    def _hearing(self) -> Iterable[Thread]:
        self._settle()
        return dict.fromkeys([*((b, t) for b, t, _ in self.heard), *self.foreign])

    # -- memory barriers of other blocks ------------------------------------------------------

    def send(self, place: Place, b: int, t: int, stamp: int) -> None:
        """A thread arrives at a memory barrier, of another block as a rule: what it knows of its
        own block, and of others, is told there."""
        self._settle()
        self._tell(self.sent, place, b, t, self.order.row_of(b, t, stamp), stamp)

    def end_phase(self, place: Place) -> None:
        """A phase of a memory barrier is over."""
        if place in self.sent:
            self.over[place] = self.sent[place]

    def receive(self, place: Place, b: int, t: int) -> None:
        """A thread has waited for the phase that was over last."""
        if place in self.over:
            self._learn([(b, t, self.over[place])])

    def told_to(self, b: int, other: int, thread: int) -> int:
        """The latest stamp up to which a thread of a block knows one of another, of the grid."""
        clocks = [clock for (block, _), clock in self.foreign.items() if block == b]
        row = self._row(reduce(self._merge, clocks, self._clock(b, -1)), other)
        return 0 if row is None else int(row[thread])

    # -- what threads know ------------------------------------------------------------------

    def known(
        self, block: Ints, thread: Ints, other_block: Ints, other_thread: Ints, strong: bool
    ) -> Any:
        """Up to which stamp threads know others, of other blocks of the grid. strong: of strong
        accesses, which are told together with what came before their fence."""
        if not self.foreign and not self.shared:
            return np.zeros(block.shape, np.int64)
        padded = self.order.padded
        who, alone = block * padded + thread, [b * padded + t for b, t in self.foreign]
        _, who = numbered(np.where(np.isin(who, alone), who, ~block))
        first, which = numbered(who << 32 | other_block)
        rows = np.zeros((len(first), self.order.rows.shape[1]), np.int32)
        for n, at in enumerate(first.tolist()):
            clock = self._clock(int(block[at]), int(thread[at]))
            row = self._row(clock, int(other_block[at]), strong)
            if row is not None:
                rows[n] = row
        return rows[which, other_thread]

    def _row(self, clock: Clock, block: int, strong: bool = False) -> Any:
        """Up to which stamps threads of a block of the grid are known, (columns,); None if nobody
        has told of them. strong: of their strong accesses, such as the last one that told."""
        column = self.column.get(block, clock.size)
        number = clock[column] if column < clock.size else 0
        return self.states[number][int(strong)] if number else None

    def _merge(self, clock: Clock, other: Clock) -> Any:
        """What both know together. Neither is changed."""
        if clock.size < other.size:
            clock, other = other, clock
        if other is clock or not other.size:
            return clock
        if clock is self.merged[0] and other is self.merged[1]:  # as for other threads before
            return self.merged[2]
        part = clock[: other.size]
        early, late = np.minimum(part, other), np.maximum(part, other)
        apart = (early > 0) & (early < self.low[late])
        for column in np.flatnonzero(apart).tolist():
            pair = int(early[column]), int(late[column])
            if pair not in self.joined:
                state = np.maximum(self.states[pair[0]], self.states[pair[1]])
                self.joined[pair] = self._state(column, state)
            late[column] = self.joined[pair]
        result = clock if (late == part).all() else np.concatenate([late, clock[other.size :]])
        self.merged = clock, other, result
        return result

    def _state(self, column: int, state: Ints) -> int:
        """The number of a new one."""
        last, number = self.latest.get(column, 0), self.low[0] + 1
        self.low[0] = number
        if number == self.low.size:
            self.low = np.concatenate([self.low, np.zeros_like(self.low)])
        holds = last and (state >= self.states[last]).all()
        self.low[number] = self.low[last] if holds else number
        self.states[number], self.latest[column] = state, number
        return int(number)

    def _clock(self, b: int, t: int) -> Any:
        """What a thread knows of other blocks."""
        own = self.foreign.get((b, t), NOTHING)
        return self._merge(self.shared.get(self.blocks[b], NOTHING), own)

    def _tell(
        self, table: dict[Any, Clock], place: Any, b: int, t: int, row: Ints, stamp: int
    ) -> None:
        """A thread adds to what is told at a place: what it knows, and this row of its block."""
        if len(self.states) >= self.room:
            self._forget()
        clock = self._merge(table.get(place, NOTHING), self._clock(b, t))
        column = self.column.setdefault(self.blocks[b], len(self.column))
        table[place] = message = np.zeros(max(clock.size, column + 1), np.int32)
        message[: clock.size] = clock
        state = np.stack([row, row])
        state[1, t] = stamp
        if message[column]:
            state = np.maximum(state, self.states[message[column]])
        message[column] = self._state(column, state)

    def _forget(self) -> None:
        """Drop states that nobody is known in."""
        tables: Any = self.told, self.heard, self.foreign, self.shared, self.sent, self.over
        tables += tuple(table for _, (_, *both) in self.pending for table in both)
        known = {id(clock): clock for table in tables for clock in table.values()}
        live = np.zeros(self.low.size, bool)
        for clock in (*known.values(), np.array([*self.latest.values()])):
            live[clock] = True
        self.states = {n: state for n, state in self.states.items() if live[n]}
        self.joined, self.merged = {}, (NOTHING, NOTHING, NOTHING)
        self.room = 2 * len(self.states) + ROOM

    def _rely(self, threads: Iterable[Thread], scope: Collection[str]) -> None:
        """What threads have read they may now rely on."""
        self._settle()
        every = [(b, t, kind) for b, t in (threads if self.heard else ()) for kind in scope]
        self._learn([(*key[:2], self.heard.pop(key)) for key in every if key in self.heard])

    def _learn(self, learned: Iterable[tuple[int, int, Clock]]) -> None:
        """Threads now know all this: of their own block, and of others."""
        own: dict[Thread, np.ndarray] = {}
        for b, t, clock in learned:
            row = self._row(clock, self.blocks[b])
            if row is not None:
                own[b, t] = np.maximum(row, own.get((b, t), 0))
            if np.count_nonzero(clock) > (row is not None):
                self.foreign[b, t] = self._merge(self.foreign.get((b, t), NOTHING), clock)
        if own:
            block, thread = np.array([*own]).T
            self.order.learn("known", block, thread, np.array([*own.values()]), np.arange(len(own)))
