"""Happens-before through memory: fences, and strong accesses to one place.

A fence lets a thread tell what it did and knew before it; a strong write after the fence tells
it to whoever reads the place strongly; and the reader relies on it after a fence of its own, or
a barrier. Acquire and release are a fence and an access in one. This is the release and acquire
pattern of the PTX memory model (PTX ISA, chapter 8), with these choices:

- What passed a fence may be told by others of the block too, once a barrier lies in between.
- The reader's fence may be a barrier: the last block of a reduction needs no other.
- Orders of scope cta hold in one block; those of a cluster too.
- A compare-and-swap that fails counts as a write.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from ..analysis.warps import Ints, Mask
from ..ptx.memory.events import Access
from ..ptx.text.syntax import Entry, Instruction
from .happens_before import Order
from .static_facts import instructions_of

Clock = dict[int, np.ndarray]  # by block, or ~block: the stamps up to which its threads are known
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


def merge(clock: Clock | None, other: Clock | None) -> Clock:
    """The later stamps of two clocks, block -> (T,) stamps of its threads; ~block -> those of
    their strong accesses. Neither is changed."""
    if not clock or not other:
        return clock or other or {}
    together = dict(clock)
    for block, row in other.items():
        together[block] = np.maximum(together[block], row) if block in together else row
    return together


class Fences:
    """What threads tell each other through memory. Threads are (block of the grid, thread).
    False where nothing in the entry orders threads that way (`used`)."""

    def __init__(self, used: bool) -> None:
        self.used = used
        # (space, cell) -> what is told to the GPU; (space, cell, block) -> and to a block
        self.told: dict[tuple[Any, ...], Clock] = {}
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
        if self.order.floor or self.told or self.foreign or self.shared:
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
                heard[group] = merge(heard.get(group), self.foreign.get((block, t)))
        for (block, number), clock in heard.items():
            for t in np.flatnonzero(groups[self.row[block]] == number).tolist():
                self.foreign[block, t] = clock

    def gather_block(self, going: Mask) -> None:
        """All threads of the blocks `going` (B,) have waited for each other."""
        for block, t in dict.fromkeys((*self.heard, *self.foreign)):
            if going[self.row[block]]:
                self._rely(self.row[block], t, "gpu")
                told = self.foreign.pop((block, t), None)
                self.shared[block] = merge(self.shared.get(block), told)

    # -- memory barriers of other blocks ------------------------------------------------------

    def send(self, place: Place, b: int, t: int, stamp: int) -> None:
        """A thread arrives at a memory barrier, of another block as a rule: what it knows of its
        own block, and of others, is told there."""
        row = self.order.row_of(b, t, stamp)
        clock = merge(self._clock(int(self.blocks[b]), t), {int(self.blocks[b]): row})
        self.sent[place] = merge(self.sent.get(place), clock)

    def end_phase(self, place: Place) -> None:
        """A phase of a memory barrier is over."""
        if place in self.sent:
            self.over[place] = self.sent[place]

    def receive(self, place: Place, b: int, t: int) -> None:
        """A thread has waited for the phase that was over last."""
        clock = dict(self.over.get(place) or {})
        row = clock.pop(int(self.blocks[b]), None)
        if row is not None:
            self.order.learn(b, t, slice(None), row)
        if clock:
            key = int(self.blocks[b]), t
            self.foreign[key] = merge(self.foreign.get(key), clock)

    def told_to(self, block: int, other: int, thread: int) -> int:
        """The latest stamp up to which a thread of a block knows one of another."""
        clocks = [self.shared.get(block), *(c for (b, _), c in self.foreign.items() if b == block)]
        return max((int(c[other][thread]) for c in clocks if c and other in c), default=0)

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
            row = self._clock(b, t).get(other)
            if row is not None:
                result[these] = row[other_thread[these]]
        return result

    def _clock(self, block: int, thread: int) -> Clock:
        return merge(self.shared.get(block), self.foreign.get((block, thread)))

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
        near = self.told.get((*place, block))
        far = self.told.get(place) if scope == "gpu" else None
        if near or far:
            mine = self.heard.setdefault((block, t), {})
            mine["cta"] = merge(mine.get("cta"), near)
            mine["gpu"] = merge(mine.get("gpu"), far)

    def _tell(
        self, b: int, t: int, place: tuple[str, int], scope: str, also: bool, stamp: int
    ) -> None:
        """also: what was told there before stands, as after an atomic operation."""
        block = int(self.blocks[b])
        for kind, key in (("cta", (*place, block)), ("gpu", place))[: 1 + (scope == "gpu")]:
            row = self.order.tells(kind, b, t)
            clock: Clock = {}
            if row is not None:
                strong = row.copy()
                strong[t] = stamp
                clock = merge(self._clock(block, t), {block: row.copy(), ~block: strong})
            if also:
                clock = merge(self.told.get(key), clock)
            if clock:
                self.told[key] = clock
            else:
                self.told.pop(key, None)

    def _rely(self, b: int, t: int, scope: str) -> None:
        """What a thread has read it may now rely on."""
        block = int(self.blocks[b])
        heard = self.heard.get((block, t), {})
        for kind in ("cta", "gpu") if scope == "gpu" else ("cta",):
            clock = dict(heard.pop(kind, {}))
            row, _ = clock.pop(block, None), clock.pop(~block, None)
            if row is not None:
                self.order.learn(b, t, slice(None), row)
            if clock:
                self.foreign[block, t] = merge(self.foreign.get((block, t)), clock)
        if not heard:
            self.heard.pop((block, t), None)
