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

from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import reduce
from typing import Any

import numpy as np

from ..analysis.warps import Ints, Mask
from ..ptx.memory.events import Access
from ..ptx.text.syntax import Entry, Instruction
from .happens_before import Order, numbered
from .static_facts import instructions_of

# What is known of all who have told anything: for each the number of its last message, which is
# the stamp at which it was told; 0 for none. Those who told something later come later.
Clock = np.ndarray  # int32
NOTHING: Clock = np.zeros(0, np.int32)
Place = tuple[int, int]  # of a memory barrier: its block in the chunk, and its address

SCOPES = {"cta": "cta", "cluster": "cta", "gl": "gpu"}  # others are of the whole GPU
ROOM = 4096  # messages that are kept at least
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


def merge(clock: Clock, other: Clock) -> Clock:
    """What both know together. Neither is changed."""
    if clock.size < other.size:
        clock, other = other, clock
    part = clock[: other.size]
    if (other <= part).all():
        return clock
    if clock.size == other.size and (part <= other).all():
        return other
    together = clock.copy()
    together[: other.size] = np.maximum(part, other)
    return together


class Fences:
    """What threads tell each other through memory. Threads are (block of the grid, thread).
    False where nothing in the entry orders threads that way (`used`)."""

    def __init__(self, used: bool) -> None:
        self.used = used
        # (space, cell) -> what is told to the GPU; (space, cell, block) -> and to a block
        self.told: dict[tuple[Any, ...], Clock] = {}
        # (table or scope, block, thread) -> the number of who tells, with its messages: up to which
        # stamps that knew the threads of its block, (columns,), by number
        self.tellers: dict[tuple[str, int, int], int] = {}
        self.messages: list[dict[int, np.ndarray]] = []
        self.of_block: dict[int, list[tuple[int, int]]] = defaultdict(list)  # (teller, thread)
        self.kept, self.room = 0, ROOM  # messages, and how many there may be
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
        self._rely(self._among(self.heard, block, thread), scope)
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
        for kind in ("cta", "gpu")[: 1 + (scope == "gpu")]:
            may = self.order.may_tell(kind, block, thread) & (event.kind != "load")
            if self.told or may.any():
                for b, t, c, tells in zip(*(x.tolist() for x in (block, thread, cell, may))):
                    key = (space, c) if kind == "gpu" else (space, c, int(self.blocks[b]))
                    if reads and key in self.told:
                        self._hear(b, t, kind, self.told[key])
                    if event.kind == "store":  # after an atomic operation it stands
                        self.told.pop(key, None)
                    if tells:
                        self._tell(b, t, kind, key, stamp)
        if words & ACQUIRES and event.kind != "store":
            self._rely(self._among(self.heard, block, thread), scope)

    def gather(self, groups: Ints) -> None:
        """Groups (B, T) of numbers have waited for each other; -1 for who has not."""
        heard: dict[tuple[int, int], Clock] = {}
        threads = [(self.row[block], t) for block, t in {**self.heard, **self.foreign}]
        threads = [(b, t) for b, t in threads if groups[b, t] >= 0]
        self._rely(threads, "gpu")
        for b, t in threads:
            block = int(self.blocks[b])
            group = block, int(groups[b, t])
            told = self.foreign.get((block, t), NOTHING)
            heard[group] = merge(heard.get(group, NOTHING), told)
        for (block, number), clock in heard.items():
            for t in np.flatnonzero(groups[self.row[block]] == number).tolist():
                self.foreign[block, t] = clock

    def gather_block(self, going: Mask) -> None:
        """All threads of the blocks `going` (B,) have waited for each other."""
        threads = [(block, t) for block, t in {**self.heard, **self.foreign}]
        threads = [(block, t) for block, t in threads if going[self.row[block]]]
        self._rely([(self.row[block], t) for block, t in threads], "gpu")
        for block, t in threads:
            told = self.foreign.pop((block, t), NOTHING)
            self.shared[block] = merge(self.shared.get(block, NOTHING), told)

    # -- memory barriers of other blocks ------------------------------------------------------

    def send(self, place: Place, b: int, t: int, stamp: int) -> None:
        """A thread arrives at a memory barrier, of another block as a rule: what it knows of its
        own block, and of others, is told there."""
        clock = merge(self.sent.get(place, NOTHING), self._clock(int(self.blocks[b]), t))
        row = self.order.row_of(b, t, stamp)
        self.sent[place] = self._message(clock, "known", b, t, row, stamp)

    def end_phase(self, place: Place) -> None:
        """A phase of a memory barrier is over."""
        if place in self.sent:
            self.over[place] = self.sent[place]

    def receive(self, place: Place, b: int, t: int) -> None:
        """A thread has waited for the phase that was over last."""
        if place in self.over:
            self._learn([(b, t, self.over[place])])

    def told_to(self, block: int, other: int, thread: int) -> int:
        """The latest stamp up to which a thread of a block knows one of another."""
        clocks = [clock for (b, _), clock in self.foreign.items() if b == block]
        row = self._row(reduce(merge, clocks, self.shared.get(block, NOTHING)), other)
        return 0 if row is None else int(row[thread])

    # -- what threads know ------------------------------------------------------------------

    def known(
        self, block: Ints, thread: Ints, other_block: Ints, other_thread: Ints, strong: bool
    ) -> np.ndarray:
        """Up to which stamp threads know others of other blocks; blocks of the grid. strong: of
        strong accesses, which are told together with what came before their fence."""
        who, alone = block << 11 | thread + 1, [b << 11 | t + 1 for b, t in self.foreign]
        _, who = numbered(np.where(np.isin(who, alone), who, block << 11))
        first, which = numbered(who << 32 | other_block)
        rows = np.zeros((len(first), self.order.rows.shape[1]), np.int32)
        for n, at in enumerate(first.tolist()):
            clock = self._clock(int(block[at]), int(thread[at]))
            row = self._row(clock, int(other_block[at]), strong)
            if row is not None:
                rows[n] = row
        return rows[which, other_thread]

    def _row(self, clock: Clock, block: int, strong: bool = False) -> Any:
        """Up to which stamps the threads of a block are known, (columns,); None if nobody has told
        anything of them. strong: of their strong accesses, such as the last one that told."""
        known = None
        for teller, thread in self.of_block.get(block, ()):
            if teller < clock.size and (number := int(clock[teller])):
                row = self.messages[teller][number]
                if strong:
                    row = row.copy()
                    row[thread] = number
                known = row if known is None else np.maximum(known, row)
        return known

    def _clock(self, block: int, thread: int) -> Clock:
        own = self.foreign.get((block, thread), NOTHING)
        return merge(self.shared.get(block, NOTHING), own)

    def _message(self, clock: Clock, kind: str, b: int, t: int, row: Ints, stamp: int) -> Clock:
        """A thread tells what is in the clock, and this row of its block."""
        if self.kept >= self.room:
            self._forget()
        block = int(self.blocks[b])
        teller = self.tellers.setdefault((kind, block, t), len(self.messages))
        if teller == len(self.messages):
            self.messages.append({})
            self.of_block[block].append((teller, t))
        earlier = self.messages[teller]
        if earlier:  # of which the last one holds all
            row = np.maximum(row, earlier[next(reversed(earlier))])
        earlier[stamp] = row
        self.kept += 1
        message = np.zeros(max(clock.size, teller + 1), np.int32)
        message[: clock.size] = clock
        message[teller] = stamp
        return message

    def _forget(self) -> None:
        """Drop messages that nobody knows as the last one of who told them."""
        tables = self.told, self.foreign, self.shared, self.sent, self.over, *self.heard.values()
        known = {id(clock): clock for table in tables for clock in table.values()}
        last = np.zeros((len(known), len(self.messages)), np.int32)
        for n, clock in enumerate(known.values()):
            last[n, : clock.size] = clock
        for teller, messages in enumerate(self.messages):
            live = {next(reversed(messages)), *last[:, teller].tolist()}
            self.messages[teller] = {n: row for n, row in messages.items() if n in live}
        self.kept = sum(map(len, self.messages))
        self.room = 2 * self.kept + ROOM

    def _among(
        self, table: Collection[tuple[int, int]], block: Ints, thread: Ints
    ) -> list[tuple[int, int]]:
        """The threads that have an entry in the table; indices within the chunk."""
        if not table:
            return []
        pairs = zip(block.tolist(), thread.tolist())
        return [(b, t) for b, t in pairs if (int(self.blocks[b]), t) in table]

    def _hear(self, b: int, t: int, kind: str, clock: Clock) -> None:
        mine = self.heard.setdefault((int(self.blocks[b]), t), {})
        mine[kind] = merge(mine.get(kind, NOTHING), clock)

    def _tell(self, b: int, t: int, kind: str, key: tuple[Any, ...], stamp: int) -> None:
        clock = merge(self.told.get(key, NOTHING), self._clock(int(self.blocks[b]), t))
        self.told[key] = self._message(clock, kind, b, t, self.order.tells(kind, b, t), stamp)

    def _rely(self, threads: Iterable[tuple[int, int]], scope: str) -> None:
        """What threads have read they may now rely on."""
        learned = []
        for b, t in threads:
            heard = self.heard.get((int(self.blocks[b]), t), {})
            kinds = [kind for kind in heard if kind == "cta" or scope == "gpu"]
            learned.append((b, t, reduce(merge, map(heard.pop, kinds), NOTHING)))
            if not heard:
                self.heard.pop((int(self.blocks[b]), t), None)
        self._learn(learned)

    def _learn(self, learned: Iterable[tuple[int, int, Clock]]) -> None:
        """Threads now know all this: of their own block, and of others."""
        own = []
        for b, t, clock in learned:
            block = int(self.blocks[b])
            row = self._row(clock, block)
            if row is not None:
                own.append((b, t, row))
            mine = [teller for teller, _ in self.of_block[block] if teller < clock.size]
            if np.count_nonzero(clock) > np.count_nonzero(clock[mine]):
                self.foreign[block, t] = merge(self.foreign.get((block, t), NOTHING), clock)
        if own:
            b, t, rows = map(np.array, zip(*own))
            self.order.learn("known", b, t, rows, np.arange(len(rows)))
