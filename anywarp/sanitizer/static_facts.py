"""What the text of an entry tells of its instructions before they run."""

from __future__ import annotations

import collections
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..ptx.text import flow, isa
from ..ptx.text.syntax import TYPE_BYTES, Entry, Immediate, Instruction, Vector

ALL = (1 << 64) - 1
LOADS, STORES = {"ld", "ldu"}, {"st", "stmatrix"}


@dataclass(frozen=True, eq=False)
class CodeFacts:
    """The entry, or a function that it may call: registers are its own."""

    code: Any  # Entry or Function
    first: int  # the number of its first instruction, counted through all parts
    demanded: dict[str, int]  # register -> the bits that anything but a copy makes use of
    masked: set[str]  # registers that `and` with a constant has written


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known of an entry and the functions that it may call."""

    number: dict[int, int]  # id of an instruction -> its number, counted through all parts
    part: dict[int, CodeFacts]  # id of an instruction -> where it stands
    guesses: frozenset[int]  # loads, by id, whose value is what a compare-and-swap compares with


def codes(entry: Entry) -> list[Any]:
    """The entry and the functions that it may call."""
    return [entry, *getattr(entry, "functions", {}).values()]


def instructions_of(entry: Entry) -> list[Instruction]:
    """Of the entry and the functions that it may call."""
    return [i for code in codes(entry) for i in code.instructions]


@functools.lru_cache(maxsize=64)
def facts_of(entry: Entry) -> Facts:
    """See `Facts`; kept, since every launch asks."""
    number: dict[int, int] = {}
    part: dict[int, CodeFacts] = {}
    guessed: set[int] = set()
    for code in codes(entry):
        every = code.instructions
        masks = (i for i in every if i.opcode == "and" and isinstance(i.operands[2], Immediate))
        masked = {name for i in masks for name in isa.written(i)}
        known = CodeFacts(code, len(number), demanded(every), masked)
        for i in every:
            number[id(i)], part[id(i)] = len(number), known
        guessed |= guesses(every)
    return Facts(number, part, frozenset(guessed))


# -- who comes where --------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def graph(entry: Any) -> tuple[list[int], list[range], list[list[int]]]:
    """(the block of each instruction, the blocks, and which may come after which)."""
    blocks = flow.blocks(entry, waits=True)
    block_of = [n for n, block in enumerate(blocks) for _ in block]
    return block_of, blocks, flow.successors(entry, blocks)


def astray(facts: Facts, at: Instruction) -> np.ndarray:
    """For each instruction, whether it is off the way to `at`, where threads wait for each
    other: no way leads there from it. Jumps and exits are on the way, and so is what stands in
    another function."""
    return _marked(facts, at, False)


def passed(facts: Facts, at: Instruction) -> np.ndarray:
    """For each instruction, whether a thread that runs it has passed `at` by: it is astray, and
    comes after `at` for those who were there."""
    return _marked(facts, at, True)


@functools.lru_cache(maxsize=256)
def _marked(facts: Facts, at: Instruction, after_it: bool) -> np.ndarray:
    """`passed`, or else `astray`."""
    part = facts.part[id(at)]
    block_of, blocks, after = graph(part.code)
    here = block_of[facts.number[id(at)] - part.first]
    result = np.zeros(len(facts.number) + 1, bool)
    for n in flow.reached(after[here], after) if after_it else range(len(blocks)):
        if here not in flow.reached([n], after):
            for m in blocks[n]:
                ends = isa.lookup(part.code.instructions[m]).ends
                result[part.first + m] = ends not in ("jump", "leave")
    return result


# -- what becomes of values -------------------------------------------------------------------


def guesses(instructions: Sequence[Instruction]) -> frozenset[int]:
    """Loads whose value comes, unchanged, to a compare-and-swap as what it expects: if somebody
    changes the place meanwhile, the swap fails, and the guess does no harm."""
    swaps = [i for i in instructions if i.opcode == "atom" and "cas" in i.modifiers]
    compared = {name for i in swaps for name in isa.registers_in(i.operands[2])}
    sources: dict[str, list[str]] = collections.defaultdict(list)
    for i in instructions:
        for name in isa.written(i) if i.opcode == "mov" else ():
            sources[name] += isa.registers_in(i.operands[1])
    compared = flow.reached(compared, sources)
    loads = [i for i in instructions if i.opcode in LOADS]
    return frozenset(id(i) for i in loads if not compared.isdisjoint(isa.written(i)))


def demanded(instructions: Sequence[Instruction]) -> dict[str, int]:
    """register -> the bits of it that matter for more than being stored again. From the end to
    the beginning, and again until nothing changes."""
    demand: dict[str, int] = {}
    while True:
        before = dict(demand)
        for i in reversed(instructions):
            for name, bits in demands(i, demand):
                demand[name] = demand.get(name, 0) | bits
        if demand == before:
            return demand


def demands(i: Instruction, of: dict[str, int]) -> Iterator[tuple[str, int]]:
    """Yield (register, bits that the instruction makes use of), given what its result is used
    for. All bits, but for the few ways in which compilers move parts of structs."""
    if i.guard:
        yield i.guard.name, ALL
    if i.opcode in STORES:
        for name in isa.registers_in(i.operands[0]):
            yield name, ALL
        return
    wanted = 0
    for name in isa.written(i):
        wanted |= of.get(name, 0)
    part = _demand(i, wanted)
    if part is None:
        for name in isa.read(i):
            yield name, ALL
    else:
        both = i.opcode in ("and", "or", "xor", "selp")
        for operand in i.operands[1 : 2 + both]:
            for name in isa.registers_in(operand):
                yield name, part
        if i.opcode == "selp":
            for name in isa.registers_in(i.operands[3]):
                yield name, ALL


def _demand(i: Instruction, wanted: int) -> int | None:
    """The bits of the sources that the wanted bits of the result depend on; None if not known."""
    kind = i.modifiers[-1] if i.modifiers else ""
    width = 8 * TYPE_BYTES.get(kind, 8)
    values = [getattr(operand, "value", None) for operand in i.operands[1:]]
    numbers = [value for value in values if isinstance(value, int)]
    parts = i.opcode == "mov" and any(isinstance(o, Vector) for o in i.operands)
    if parts or (i.opcode == "bfe" and len(numbers) == 2):
        return ALL if wanted else 0  # a part of a register, or parts that make one
    if i.opcode in ("mov", "or", "xor", "not", "selp"):
        return wanted
    if i.opcode == "and":
        return wanted & numbers[0] if len(numbers) == 1 else wanted
    if i.opcode == "cvt" and len(i.modifiers) == 2 and {m[0] for m in i.modifiers} <= {"u", "s"}:
        return wanted & (1 << 8 * TYPE_BYTES[i.modifiers[0]]) - 1 & (1 << width) - 1
    if i.opcode in ("shl", "shr") and len(numbers) == 1:
        mask = (1 << width) - 1
        if i.opcode == "shl":
            return (wanted & mask) >> numbers[0]
        return (wanted & mask) << numbers[0] & mask
    return None
