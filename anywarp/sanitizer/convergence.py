"""Who has to come to a barrier, a shuffle or a vote, and who did not."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..analysis.warps import LANES, Ints, Mask, whole_mask
from ..ptx.memory.events import Barrier, Executed, Launched, WarpSync
from ..ptx.text import isa
from ..ptx.text.syntax import Instruction
from .findings import Findings, Words, place
from .static_facts import astray, facts_of, instructions_of, passed

ENDS = ("jump", "leave")


class Convergence:
    """Finds threads that do not come where others wait for them. One that has exited is not
    waited for, and an early `return` is no fault. But a thread has passed a barrier by if it ran
    what comes after that, with no way back; and a lane that a member mask names has to come if
    it ran anything else but its way there."""

    def __init__(self, launched: Launched, words: Words, findings: Findings) -> None:
        self.words, self.findings = words, findings
        self.facts = facts_of(launched.entry)
        self.watches = any(isa.lookup(i).ends == "wait" for i in instructions_of(launched.entry))

    def begin_chunk(self, blocks: Ints, threads: int) -> None:
        """A chunk of blocks begins."""
        self.blocks, self.threads = blocks, threads
        self.at = np.zeros((len(blocks), threads), np.int32)  # the last instruction of each

    def executed(self, event: Executed) -> None:
        """Remember where threads have come."""
        if not self.watches:
            return
        for i in reversed(event.instructions):
            if isa.lookup(i).ends not in ENDS:
                mask = whole_mask(event.mask, self.at.shape)
                np.copyto(self.at, self.facts.number[id(i)], where=mask)
                return

    def barrier(self, event: Barrier, mask: Mask, going: Mask) -> None:
        """`mask` (B, T) wait at a barrier of the whole block, in the blocks of `going`."""
        missing = ~mask & going[:, None]
        if missing.any():
            missing &= passed(self.facts, event.instruction)[self.at]
        if missing.any():
            b, t = np.argwhere(missing)[0]
            text = f"{mask[b].sum()} of {self.threads} threads of the block wait at the barrier, "
            text += "{them} among the others has passed it by and exited"
            first, count = int(np.argmax(mask[b])), missing.any(1).sum()
            self._astray(event.instruction, b, (first, t), text, count)
        if len(event.waited) > 1:
            counts = np.stack([where.sum(1) for _, where in event.waited])
            blocks = np.flatnonzero((counts > 0).sum(0) > 1)
            for b in blocks[:1]:
                here, there = np.flatnonzero(counts[:, b])[:2]
                (instruction, those), (other, others) = event.waited[here], event.waited[there]
                text = f"{those[b].sum()} of {self.threads} threads of the block wait here, "
                text += f"{{them}} among the others at {place(other)}"
                first, second = int(np.argmax(those[b])), int(np.argmax(others[b]))
                self._astray(instruction, b, (first, second), text, blocks.size, other)

    def lanes(self, event: WarpSync) -> None:
        """A shuffle, vote or warp barrier: whoever a member mask names has to come."""
        shape = len(self.blocks), self.threads
        active = whole_mask(event.mask, shape)
        members = np.where(active, np.broadcast_to(event.members, shape), np.uint32(0))
        lane = np.arange(self.threads) % LANES
        bit = np.uint32(1) << lane.astype(np.uint32)
        outside = active & (members & bit == 0)
        if outside.any():
            b, t = np.argwhere(outside)[0]
            text = f"lane {t % LANES} runs this with a member mask that does not name it: "
            text += f"{int(members[b, t]):#010x}"
            self._astray(event.instruction, b, (t, t), text, outside.sum())
        if active.all():
            return
        starts = np.arange(0, self.threads, LANES)
        named = np.repeat(np.bitwise_or.reduceat(members, starts, axis=1), LANES, axis=1)
        missing = (named[:, : self.threads] & bit != 0) & ~active
        if missing.any():
            missing &= astray(self.facts, event.instruction)[self.at]
        if missing.any():
            b, t = np.argwhere(missing)[0]
            first = t // LANES * LANES
            warp = slice(first, first + LANES)
            waiting = first + int(np.argmax(active[b, warp] & (members[b, warp] > 0)))
            absent = ", ".join(map(str, np.flatnonzero(missing[b, warp])))
            text = f"the member mask {int(members[b, waiting]):#010x} names lanes that do not come "
            text += f"here: {absent}"
            self._astray(event.instruction, b, (waiting, t), text, missing.sum())

    def _astray(
        self, i: Instruction, b: int, two: Any, sentence: str, count: int, other: Any = None
    ) -> None:
        """A finding about two threads of the block `b`, of which the second does not come here,
        but maybe to another instruction."""
        thread, them = (self.words.thread(self.blocks[b], t) for t in two)
        sites = i, thread, None, other, None if them == thread else them
        self.findings.report("barrier", sentence.format(them=them), *sites, count=count)
