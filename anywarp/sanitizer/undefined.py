"""Values that nobody has defined, on their way through registers.

Compilers copy structs in words, padding included. So a load may read bytes that nobody wrote, if
it reads others too and the undefined ones only go into a store (`used_cells`). A lane that shuffles
from one that takes no part gets an undefined value too; it is at fault when it stores that, or what
is computed from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..analysis.warps import LANES, Mask, whole_mask
from ..ptx.memory.events import Access, Executed, WarpSync
from ..ptx.text import isa
from ..ptx.text.syntax import TYPE_BYTES, Instruction
from .static_facts import LOADS, CodeFacts, Facts


def used_cells(instruction: Instruction, facts: Facts, width: int, grain: int) -> np.ndarray:
    """Which cells of a load are made use of, other than in copies: bool (cells of a lane,)."""
    if instruction.opcode not in LOADS:
        return np.ones(-(-width // grain), bool)
    size, used = TYPE_BYTES[instruction.modifiers[-1]], []
    for name in isa.registers_in(instruction.operands[0]):
        bits = facts.part[id(instruction)].demanded.get(name, 0)
        used += [bool(bits >> 8 * n & 0xFF) for n in range(size)]
    return np.reshape(used, (-1, grain)) @ np.ones(grain, bool)


Stray = Mask | None  # (B, T)


class Strays:
    """Registers that hold what a shuffle took from a lane that was not there.

    A straight run of instructions is told of before it runs, so it is followed only up to what
    is heard next: `todo`."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.lanes: dict[tuple[CodeFacts, str], np.ndarray] = {}  # (part, register) -> (B, T)
        self.origin: Any = ()  # (the last such shuffle, the lane)
        self.todo: list[Instruction] = []
        self.mask: np.ndarray | None = None

    def begin(self, event: Executed) -> None:
        """A straight run of instructions begins."""
        if self.lanes:
            self._follow(None)
            self.todo, self.mask = list(reversed(event.instructions)), event.mask

    def shuffled(self, event: WarpSync) -> None:
        """Lanes have shuffled."""
        shape = len(event.blocks), event.threads
        self._follow(event.instruction)
        mask = whole_mask(event.mask, shape)
        assert event.sources is not None
        lane = event.sources.astype(np.int64)
        source = np.arange(event.threads) // LANES * LANES + lane
        there = source < event.threads
        source = np.where(there, source, 0)
        named = np.broadcast_to(event.members, shape) >> lane.astype(np.uint32) & np.uint32(1)
        there = there & np.take_along_axis(mask, source, 1) & (named == 1)
        stray = mask & ~there
        if stray.any():
            b, t = np.argwhere(stray)[0]
            self.origin = event.instruction, int(lane[b, t])
        value = self._any(event.instruction, isa.registers_in(event.instruction.operands[1]))
        if value is not None:
            stray |= mask & np.take_along_axis(np.broadcast_to(value, shape), source, 1)
        target = isa.registers_in(event.instruction.operands[0])[:1]
        self.set(event.instruction, target, stray, event.mask)

    def stored(self, event: Access) -> np.ndarray | None:
        """(B, T) where a store or atomic takes a stray value or address; None if nowhere."""
        if not self.lanes or event.kind == "load":
            return None
        self._follow(event.instruction)
        return self._any(event.instruction, isa.read(event.instruction))

    def _follow(self, until: Instruction | None) -> None:
        """What the instructions before that one do with stray values."""
        while self.todo and self.todo[-1] is not until:
            i = self.todo.pop()
            sources = isa.read(i)
            if i.opcode == "shfl":
                continue
            if i.opcode == "selp":  # which one it takes is not known here: it is if both are
                first, second = (self._any(i, isa.registers_in(o)) for o in i.operands[1:3])
                stray = None if first is None or second is None else first & second
            elif i.opcode in LOADS | {"atom", "vote", "redux"}:
                stray = None
            else:
                stray = self._any(i, sources)
            self.set(i, isa.written(i), stray, self.mask, weak=i.guard is not None)

    def set(
        self, i: Instruction, targets: Iterable[str], stray: Stray, mask: Stray, weak: bool = False
    ) -> None:
        """The threads of the mask now have stray values in these registers, or no more. weak: only
        some of them were written."""
        for name in ((self.facts.part[id(i)], target) for target in targets):
            before = self.lanes.get(name)
            if before is None and stray is None:
                continue
            new = np.zeros(1, bool) if stray is None else stray
            if before is not None and weak:
                new = before | new & (True if mask is None else mask)
            elif mask is not None:
                new = np.where(mask, new, False if before is None else before)
            if new.any():
                self.lanes[name] = new
            else:
                self.lanes.pop(name, None)

    def _any(self, i: Instruction, names: Iterable[str]) -> np.ndarray | None:
        keys = [(self.facts.part[id(i)], name) for name in names]
        strays = [self.lanes[key] for key in keys if key in self.lanes]
        return np.logical_or.reduce(strays) if strays else None
