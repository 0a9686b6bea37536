"""Registers that are needed in one basic block only, and when they no longer are.

A compiler gives nearly every result a register of its own. If each kept its array until the next
pass of a loop, they would fill the caches; given up after their last use, the same memory is
used over and over.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..aliases import Execute, Mask, Slots, State
from . import isa
from .syntax import Instruction


def temporaries(code: Sequence[Instruction], blocks: Sequence[range]) -> set[str]:
    """The registers whose every use is in one block, after the block has written them for all of
    its threads."""
    home: dict[str, int] = {}
    others = set()
    for number, block in enumerate(blocks):
        for i in code[block.start : block.stop]:
            for name in isa.read(i):
                if home.get(name) != number:
                    others.add(name)
            for name in isa.written(i):
                if home.setdefault(name, number) != number or i.guard is not None:
                    others.add(name)
    return home.keys() - others


def last_uses(steps: Sequence[Sequence[Instruction]], names: set[str]) -> list[list[str]]:
    """For each step of a block, those of the names that no later one has."""
    dying: list[list[str]] = []
    left = set(names)
    for step in reversed(steps):
        used = left.intersection(x for i in step for x in (*isa.read(i), *isa.written(i)))
        left -= used
        dying.append(sorted(used))
    return dying[::-1]


def giving_up(execute: Execute, names: Sequence[str], slots: Slots) -> Any:
    """The step, after which the registers are as if they had never been written."""
    if not names:
        return execute
    places = [slots.nothing(name) for name in names]

    def run(state: State, mask: Mask) -> None:
        execute(state, mask)
        for at, nothing in places:
            state.registers[at] = nothing

    return run


@functools.cache
def keep_freed_memory() -> None:
    """Freeing one large array makes glibc keep smaller ones for what comes next (mallopt(3),
    M_MMAP_THRESHOLD). Otherwise each array of 256 KiB goes back to the system and its pages come
    anew: three times the time of a multiply-add. Other allocators do not mind."""
    np.empty(31 << 20, np.uint8)
