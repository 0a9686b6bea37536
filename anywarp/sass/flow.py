"""Basic blocks of machine code, and where a branch goes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from .decode import Instruction
from .encoding import ZERO, field


@dataclass(frozen=True)
class Block:
    """A basic block: instructions that run one after another, by their numbers in the code."""

    first: int
    end: int  # the instruction after the last
    successors: tuple[int, ...]  # the first instruction of each block that may come next


def distance(word: int) -> int:
    """How far a branch goes, in instructions after it; the two fields count units of 4 bytes."""
    high = field(word, 34, 30)
    return ((high - (high >> 29 << 30)) * 256 + field(word, 16, 8)) // 4


def target(n: int, i: Instruction) -> int:
    """Where instruction `n`, a BRA, goes."""
    return n + 1 + distance(i.word)


def conditional(i: Instruction) -> bool:
    """Whether the branch or exit may be passed over: it has a guard or reads a condition."""
    return i.guard is not None or (ZERO,) not in i.reads


def blocks(code: Sequence[Instruction]) -> dict[int, Block]:
    """Those that can be reached from the first instruction, by their first."""
    leaders = {0, len(code)}
    for n, i in enumerate(code):
        if i.name == "BRA":
            leaders |= {target(n, i), n + 1}
        elif i.name == "EXIT":
            leaders.add(n + 1)
    ends = sorted(leaders)
    reached: dict[int, Block] = {}
    todo = [0]
    while todo:
        first = todo.pop()
        if first in reached or first >= len(code):
            continue
        end = next(e for e in ends if e > first)
        reached[first] = Block(first, end, _successors(code, end - 1))
        todo += reached[first].successors
    return reached


def _successors(code: Sequence[Instruction], last: int) -> tuple[int, ...]:
    """The first instruction of each block that may run after the block that ends with `last`."""
    i = code[last]
    if i.name == "BRA":
        return (target(last, i), last + 1) if conditional(i) else (target(last, i),)
    if i.name == "EXIT" and not conditional(i):
        return ()
    return (last + 1,)


@functools.lru_cache(1)
def live(code: tuple[Instruction, ...]) -> dict[int, frozenset[int]]:
    """The registers that each block, or what comes after it, reads before it writes them."""
    parts = blocks(code)
    read: dict[int, set[int]] = {}
    written: dict[int, set[int]] = {}
    for first, part in parts.items():
        reads, writes = read.setdefault(first, set()), written.setdefault(first, set())
        for i in code[part.first : part.end]:
            reads |= (i.places_read | (set(i.writes) if i.guard else set())) - writes
            writes |= set() if i.guard else set(i.writes)
    needed = {first: frozenset(read[first]) for first in parts}
    changed = True
    while changed:
        changed = False
        for first, part in parts.items():
            after = frozenset().union(*(needed[successor] for successor in part.successors))
            new = needed[first] | (after - written[first])
            changed |= new != needed[first]
            needed[first] = new
    return needed
