"""Who has to come to a barrier, a shuffle or a vote, and who did not."""

from __future__ import annotations

import numpy as np

from ..ptx.text import isa
from .findings import Finding, place
from .shadow import LANES
from .static_facts import astray, facts_of, instructions_of, passed

ENDS = ("jump", "leave")


class Convergence:
    """Finds threads that do not come where others wait for them. One that has exited is not
    waited for, and an early `return` is no fault. But a thread has passed a barrier by if it ran
    what comes after that, with no way back; and a lane that a member mask names has to come if
    it ran anything else but its way there."""

    def __init__(self, launched, words, findings):
        self.words, self.findings = words, findings
        self.facts = facts_of(launched.entry)
        self.watches = any(isa.lookup(i).ends == "wait" for i in instructions_of(launched.entry))

    def begin_chunk(self, blocks, threads: int) -> None:
        self.blocks, self.threads = blocks, threads
        self.at = np.zeros((len(blocks), threads), np.int32)  # the last instruction of each

    def executed(self, event) -> None:
        if not self.watches:
            return
        for i in reversed(event.instructions):
            if isa.lookup(i).ends not in ENDS:
                mask = True if event.mask is None else event.mask
                np.copyto(self.at, self.facts.number[id(i)], where=mask)
                return

    def marked(self, table, instruction):
        """Who is, of the threads (B, T), where the table of the instruction says."""
        return table(self.facts, instruction)[self.at]

    def barrier(self, event, mask, going) -> None:
        """`mask` (B, T) wait at a barrier of the whole block, in the blocks of `going`."""
        missing = ~mask & going[:, None]
        if missing.any():
            missing &= self.marked(passed, event.instruction)
        if missing.any():
            b, t = np.argwhere(missing)[0]
            self._astray(
                event.instruction,
                b,
                int(np.argmax(mask[b])),
                t,
                None,
                f"{int(mask[b].sum())} of {self.threads} threads of the block wait at the "
                "barrier, {them} among the others has passed it by and exited",
                int(missing.any(1).sum()),
            )
        if len(event.waited) > 1:
            counts = np.stack([where.sum(1) for _, where in event.waited])
            for b in np.flatnonzero((counts > 0).sum(0) > 1)[:1]:
                here, there = np.flatnonzero(counts[:, b])[:2]
                (instruction, one), (other, two) = event.waited[here], event.waited[there]
                self._astray(
                    instruction,
                    b,
                    int(np.argmax(one[b])),
                    int(np.argmax(two[b])),
                    other,
                    f"{int(one[b].sum())} of {self.threads} threads of the block wait "
                    f"here, {{them}} among the others at {place(other)}",
                    int(((counts > 0).sum(0) > 1).sum()),
                )

    def lanes(self, event) -> None:
        """A shuffle, vote or warp barrier: whoever a member mask names has to come."""
        shape = len(self.blocks), self.threads
        active = np.broadcast_to(True if event.mask is None else event.mask, shape)
        members = np.where(active, np.broadcast_to(event.members, shape), np.uint32(0))
        lane = np.arange(self.threads) % LANES
        own = members >> lane.astype(np.uint32) & np.uint32(1)
        outside = active & (own == 0)
        if outside.any():
            b, t = np.argwhere(outside)[0]
            self._astray(
                event.instruction,
                b,
                t,
                t,
                None,
                f"lane {t % LANES} runs this with a member mask that does not name it: "
                f"{int(members[b, t]):#010x}",
                int(outside.sum()),
            )
        if active.all():
            return
        starts = np.arange(0, self.threads, LANES)
        named = np.repeat(np.bitwise_or.reduceat(members, starts, axis=1), LANES, axis=1)
        named = named[:, : self.threads] >> lane.astype(np.uint32) & np.uint32(1)
        missing = (named == 1) & ~active
        if missing.any():
            missing &= self.marked(astray, event.instruction)
        if missing.any():
            b, t = np.argwhere(missing)[0]
            first = t // LANES * LANES
            warp = slice(first, first + LANES)
            waiting = first + int(np.argmax(active[b, warp] & (members[b, warp] > 0)))
            absent = ", ".join(map(str, np.flatnonzero(missing[b, warp])))
            self._astray(
                event.instruction,
                b,
                waiting,
                t,
                None,
                f"the member mask {int(members[b, waiting]):#010x} names lanes that do not come "
                f"here: {absent}",
                int(missing.sum()),
            )

    def _astray(self, instruction, b, t, other_t, other, sentence: str, count: int) -> None:
        thread = self.words.thread(self.blocks[b], t)
        them = self.words.thread(self.blocks[b], other_t)
        self.findings.add(
            Finding(
                "barrier",
                sentence.format(them=them),
                place(instruction),
                thread,
                None,
                other and place(other),
                None if other_t == t else them,
                count,
            )
        )
