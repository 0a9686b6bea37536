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

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..analysis.warps import Ints, Mask
from ..ptx.memory.events import Access
from ..ptx.text.syntax import Entry, Instruction
from .happens_before import Order
from .static_facts import instructions_of

Rows = dict[int, np.ndarray]  # by block, or ~block: the stamps up to which its threads are known
Place = tuple[int, int]  # of a memory barrier: its block in the chunk, and its address

SCOPES = {"cta": "cta", "cluster": "cta", "gl": "gpu"}  # others are of the whole GPU
RELEASES, ACQUIRES = {"release", "acq_rel"}, {"acquire", "acq_rel"}
FENCES = {"membar", "fence"}


def scope_of(instruction: Instruction) -> str:
    """Whom an instruction orders: "cta", the block, or "gpu"."""
    for word in instruction.modifiers:
        if word in SCOPES:
            return SCOPES[word]
    return "gpu"


def used_by(entry: Entry) -> bool:
    """Whether an entry has anything that orders threads through memory."""
    orders = RELEASES | ACQUIRES
    return any(i.opcode in FENCES or orders & {*i.modifiers} for i in instructions_of(entry))


@dataclass(frozen=True, eq=False)
class Clock:
    """What is known of threads: block -> (T,) stamps of them; ~block -> those of their strong
    accesses.

    Many threads that wait for a lock hear of all who had it, again and again. So a clock says which
    messages it is made of, each the number of one at a place, and which it holds, by place from the
    first to the last of some in a row: whoever holds all that another is made of need not look at
    its rows."""

    rows: Rows
    parts: tuple[tuple[Any, int], ...]
    held: dict[Any, tuple[int, int]]

    def lacks(self, other: Clock) -> tuple[tuple[Any, int], ...]:
        """The messages that the other is made of, and that are news here."""
        spans = [(part, self.held.get(part[0], (0, 0))) for part in other.parts]
        return tuple(part for part, (first, last) in spans if not first <= part[1] <= last)

    def told(self, place: Any, number: int, rows: Rows) -> Clock:
        """The message of this number at a place, of all that is here and these rows."""
        held = self.held | {place: joined(self.held.get(place), (number, number))}
        return Clock(joined_rows(self.rows, rows), ((place, number),), held)


NOTHING = Clock({}, (), {})


def merge(clock: Clock, other: Clock) -> Clock:
    """What both know together. Neither is changed."""
    if not (old := other.lacks(clock)):
        return other
    if not (new := clock.lacks(other)):
        return clock
    held = clock.held | {p: joined(clock.held.get(p), span) for p, span in other.held.items()}
    return Clock(joined_rows(clock.rows, other.rows), old + new, held)


def joined_rows(rows: Rows, others: Rows) -> Rows:
    """The later stamps of both."""
    together = dict(rows)
    for block, row in others.items():
        mine = together.get(block)
        if mine is not row:
            together[block] = row if mine is None else np.maximum(mine, row)
    return together


def joined(span: tuple[int, int] | None, other: tuple[int, int]) -> tuple[int, int]:
    """The numbers of both if they are in a row, else the later ones."""
    if span is None or max(span[0], other[0]) > min(span[1], other[1]) + 1:
        return max(span or other, other)
    return min(span[0], other[0]), max(span[1], other[1])


class Fences:
    """What threads tell each other through memory. Threads are (block of the grid, thread).
    False where nothing in the entry orders threads that way (`used`)."""

    def __init__(self, used: bool) -> None:
        self.used = used
        # (space, cell) -> what is told to the GPU; (space, cell, block) -> and to a block
        self.told: dict[tuple[Any, ...], Clock] = {}
        self.numbers: Counter[Any] = Counter()  # of the latest message at each place
        # (block, thread) -> by scope, what is read but not yet relied upon
        self.heard: dict[tuple[int, int], dict[str, Clock]] = {}
        self.foreign: dict[tuple[int, int], Clock] = {}  # of other blocks, by (block, thread)
        self.shared: dict[int, Clock] = {}  # block -> of other blocks, what all its threads have
        self.sent: dict[Place, Clock] = {}  # to memory barriers
        self.over: dict[Place, Clock] = {}  # and that of their phases that are over

    def __bool__(self) -> bool:
        return self.used

    def begin_chunk(self, order: Order, blocks: Ints) -> None:
        """A chunk of blocks begins; what was told in global memory stays."""
        self.order, self.blocks = order, blocks
        self.row = {int(block): b for b, block in enumerate(blocks)}
        self.told = {key: clock for key, clock in self.told.items() if key[0] == "global"}
        for table in (self.heard, self.foreign, self.sent, self.over):
            table.clear()

    # -- what instructions do ---------------------------------------------------------------

    def fence(self, scope: str, block: Ints, thread: Ints, stamp: int) -> None:
        """Threads pass a fence; indices within the chunk."""
        for b, t in self._among(self.heard, block, thread):
            self._rely(b, t, scope)
        self.order.fence("cta", block, thread, stamp)
        if scope == "gpu":
            self.order.fence("gpu", block, thread, stamp)

    def meet(
        self, event: Access, space: str, cell: Ints, block: Ints, thread: Ints, stamp: int
    ) -> None:
        """Threads access strongly a cell each, in turn."""
        words, scope = set(event.instruction.modifiers), scope_of(event.instruction)
        if words & RELEASES and event.kind != "load":
            self.fence(scope, block, thread, stamp)
        reads = event.kind != "store" and event.instruction.opcode != "red"
        if self.order.own or self.told or self.foreign or self.shared:
            for b, t, c in zip(block.tolist(), thread.tolist(), cell.tolist()):
                if reads:
                    self._hear(b, t, (space, c), scope)
                if event.kind != "load":
                    self._tell(b, t, (space, c), scope, event.kind == "atomic", stamp)
        if words & ACQUIRES and event.kind != "store":
            for b, t in self._among(self.heard, block, thread):
                self._rely(b, t, scope)

    def gather(self, groups: Ints) -> None:
        """Groups (B, T) of numbers have waited for each other; -1 for who has not."""
        heard: dict[tuple[int, int], Clock] = {}
        for block, t in dict.fromkeys((*self.heard, *self.foreign)):
            b = self.row[block]
            if groups[b, t] >= 0:
                self._rely(b, t, "gpu")
                group = block, int(groups[b, t])
                told = self.foreign.get((block, t), NOTHING)
                heard[group] = merge(heard.get(group, NOTHING), told)
        for (block, number), clock in heard.items():
            for t in np.flatnonzero(groups[self.row[block]] == number).tolist():
                self.foreign[block, t] = clock

    def gather_block(self, going: Mask) -> None:
        """All threads of the blocks `going` (B,) have waited for each other."""
        for block, t in dict.fromkeys((*self.heard, *self.foreign)):
            if going[self.row[block]]:
                self._rely(self.row[block], t, "gpu")
                told = self.foreign.pop((block, t), NOTHING)
                self.shared[block] = merge(self.shared.get(block, NOTHING), told)

    # -- memory barriers of other blocks ------------------------------------------------------

    def send(self, place: Place, b: int, t: int, stamp: int) -> None:
        """A thread arrives at a memory barrier, of another block as a rule: what it knows of its
        own block, and of others, is told there."""
        block = int(self.blocks[b])
        clock = merge(self.sent.get(place, NOTHING), self._clock(block, t))
        self.sent[place] = self._message(clock, place, {block: self.order.row_of(b, t, stamp)})

    def end_phase(self, place: Place) -> None:
        """A phase of a memory barrier is over."""
        if place in self.sent:
            self.over[place] = self.sent[place]

    def receive(self, place: Place, b: int, t: int) -> None:
        """A thread has waited for the phase that was over last."""
        if place in self.over:
            self._learn(b, t, self.over[place])

    def told_to(self, block: int, other: int, thread: int) -> int:
        """The latest stamp up to which a thread of a block knows one of another."""
        clocks = [c for (b, _), c in self.foreign.items() if b == block]
        clocks.append(self.shared.get(block, NOTHING))
        return max((int(c.rows[other][thread]) for c in clocks if other in c.rows), default=0)

    # -- what threads know ------------------------------------------------------------------

    def known(
        self, block: Ints, thread: Ints, other_block: Ints, other_thread: Ints, strong: bool
    ) -> np.ndarray:
        """Up to which stamp threads know others of other blocks; blocks of the grid. strong: of
        strong accesses, which are told together with what came before their fence."""
        if strong:
            other_block = ~other_block
        result = np.zeros(block.shape, np.int64)
        if not self.foreign and not self.shared:
            return result
        single = np.array([(b, t) in self.foreign for b, t in zip(block.tolist(), thread.tolist())])
        whose = np.stack([block, np.where(single, thread, -1), other_block], 1)
        for b, t, other in np.unique(whose, axis=0).tolist():
            these = np.flatnonzero((whose == (b, t, other)).all(1))
            row = self._clock(b, t).rows.get(other)
            if row is not None:
                result[these] = row[other_thread[these]]
        return result

    def _clock(self, block: int, thread: int) -> Clock:
        own = self.foreign.get((block, thread), NOTHING)
        return merge(self.shared.get(block, NOTHING), own)

    def _message(self, clock: Clock, place: Any, rows: Rows) -> Clock:
        """A new one at a place, of these rows besides what is in the clock."""
        self.numbers[place] += 1
        return clock.told(place, self.numbers[place], rows)

    def _among(
        self, table: Collection[tuple[int, int]], block: Ints, thread: Ints
    ) -> list[tuple[int, int]]:
        """The threads that have an entry in the table; indices within the chunk."""
        if not table:
            return []
        pairs = zip(block.tolist(), thread.tolist())
        return [(b, t) for b, t in pairs if (int(self.blocks[b]), t) in table]

    def _hear(self, b: int, t: int, place: tuple[str, int], scope: str) -> None:
        block = int(self.blocks[b])
        for kind, key in (("cta", (*place, block)), ("gpu", place))[: 1 + (scope == "gpu")]:
            if key in self.told:
                mine = self.heard.setdefault((block, t), {})
                mine[kind] = merge(mine.get(kind, NOTHING), self.told[key])

    def _tell(
        self, b: int, t: int, place: tuple[str, int], scope: str, also: bool, stamp: int
    ) -> None:
        """also: what was told there before stands, as after an atomic operation."""
        block = int(self.blocks[b])
        for kind, key in (("cta", (*place, block)), ("gpu", place))[: 1 + (scope == "gpu")]:
            row = self.order.tells(kind, b, t)
            before = self.told.pop(key, NOTHING)
            clock = before if also else NOTHING
            if row is not None and row.any():  # it has passed a fence
                strong = row.copy()
                strong[t] = stamp
                clock = merge(clock, self._clock(block, t))
                clock = self._message(clock, key, {block: row.copy(), ~block: strong})
            if clock.rows:
                self.told[key] = clock

    def _rely(self, b: int, t: int, scope: str) -> None:
        """What a thread has read it may now rely on."""
        block = int(self.blocks[b])
        heard = self.heard.get((block, t), {})
        for kind in ("cta", "gpu") if scope == "gpu" else ("cta",):
            if kind in heard:
                self._learn(b, t, heard.pop(kind))
        if not heard:
            self.heard.pop((block, t), None)

    def _learn(self, b: int, t: int, clock: Clock) -> None:
        """A thread now knows all this: of its own block, and of others."""
        block = int(self.blocks[b])
        if block in clock.rows:
            own = np.array([[b], [t], [0]])
            self.order.learn("known", *own[:2], clock.rows[block][None], own[2])
        if clock.rows.keys() - {block, ~block}:
            self.foreign[block, t] = merge(self.foreign.get((block, t), NOTHING), clock)
