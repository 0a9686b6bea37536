"""What the text of an entry tells of its instructions before they run."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from ..ptx import flow, isa
from ..ptx.syntax import TYPE_BYTES, Entry, Immediate, Instruction, Vector

ALL = (1 << 64) - 1
LOADS, STORES = {"ld", "ldu"}, {"st"}


@dataclass(frozen=True, eq=False)
class Facts:
    index: dict[int, int]  # id of an instruction -> its place
    demanded: dict[str, int]  # register -> the bits that anything but a copy makes use of
    carried: frozenset[str]  # registers that only loads define
    guesses: frozenset[int]  # loads, by id, whose value is what a compare-and-swap compares with


@functools.lru_cache(maxsize=64)
def facts_of(entry: Entry) -> Facts:
    instructions = entry.instructions
    return Facts(
        {id(i): n for n, i in enumerate(instructions)},
        demanded(instructions),
        loaded_only(instructions),
        guesses(instructions),
    )


# -- who comes where --------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def graph(entry: Entry):
    """(the block of each instruction, the blocks, and which may come after which)."""
    blocks = flow.blocks(entry, waits=True)
    return (
        [n for n, block in enumerate(blocks) for _ in block],
        blocks,
        flow.successors(entry, blocks),
    )


@functools.lru_cache(maxsize=256)
def passed(entry: Entry, at: int) -> np.ndarray:
    """For each instruction, whether a thread that runs it has passed by `at`, where threads wait
    for each other: it can be reached from there, and leads no more to it. Leaving does not
    count."""
    block_of, blocks, after = graph(entry)
    here = block_of[at]
    result = np.zeros(len(entry.instructions) + 1, bool)
    for n in flow.reached(after[here], after):
        if here not in flow.reached([n], after):
            for m in blocks[n]:
                result[m] = isa.lookup(entry.instructions[m]).ends not in ("jump", "leave")
    return result


# -- what becomes of values -------------------------------------------------------------------


def loaded_only(instructions) -> frozenset[str]:
    loaded = {name for i in instructions if i.opcode in LOADS for name in isa.written(i)}
    others = {name for i in instructions if i.opcode not in LOADS for name in isa.written(i)}
    return frozenset(loaded - others)


def guesses(instructions) -> frozenset[int]:
    """Loads whose value comes, unchanged, to a compare-and-swap as what it expects: if somebody
    changes the place meanwhile, the swap fails, and the guess does no harm."""
    compared = {
        name
        for i in instructions
        if i.opcode == "atom" and "cas" in i.modifiers
        for name in isa.registers_in(i.operands[2])
    }
    while True:
        more = {
            name
            for i in instructions
            if i.opcode == "mov" and set(isa.written(i)) & compared
            for name in isa.registers_in(i.operands[1])
        } - compared
        if not more:
            break
        compared |= more
    return frozenset(
        id(i) for i in instructions if i.opcode in LOADS and set(isa.written(i)) & compared
    )


def demanded(instructions) -> dict[str, int]:
    """register -> the bits of it that matter for more than being stored again. From the end to
    the beginning, and again until nothing changes."""
    found: dict[str, int] = {}
    while True:
        before = dict(found)
        for i in reversed(instructions):
            for name, bits in demands(i, found):
                found[name] = found.get(name, 0) | bits
        if found == before:
            return found


def demands(i: Instruction, of: dict[str, int]):
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
    elif i.opcode == "mov" and any(isinstance(o, Vector) for o in i.operands):
        yield from _split_or_join(i, of)
    else:
        for name in isa.registers_in(i.operands[1]):
            yield name, part
        if i.opcode in ("and", "or", "xor", "selp"):
            for name in isa.registers_in(i.operands[2]):
                yield name, part
        if i.opcode == "selp":
            for name in isa.registers_in(i.operands[3]):
                yield name, ALL


def _demand(i: Instruction, wanted: int) -> int | None:
    """The bits of the sources that the wanted bits of the result depend on; None if not known."""
    kind = i.modifiers[-1] if i.modifiers else ""
    width = 8 * TYPE_BYTES.get(kind, 8)
    numbers = [o.value for o in i.operands[1:] if isinstance(o, Immediate)]
    whole = all(isinstance(n, int) for n in numbers)
    if i.opcode in ("mov", "or", "xor", "not", "selp"):
        return wanted
    if i.opcode == "and":
        return wanted & numbers[0] if len(numbers) == 1 and whole else wanted
    if i.opcode == "cvt" and len(i.modifiers) == 2 and kind[0] in "us":
        kept = (1 << width) - 1
        sign = 1 << (width - 1) if kind[0] == "s" and wanted & ~kept else 0
        return wanted & kept | sign
    if i.opcode in ("shl", "shr") and len(numbers) == 1 and whole:
        if i.opcode == "shl":
            return wanted >> numbers[0]
        mask = (1 << width) - 1
        moved = (wanted & mask) << numbers[0]
        return moved & mask | ((1 << (width - 1)) if kind[0] == "s" and moved & ~mask else 0)
    if i.opcode == "bfe" and len(numbers) == 2 and whole:
        return ((1 << numbers[1]) - 1) << numbers[0] if wanted else 0
    return None


def _split_or_join(i: Instruction, of: dict[str, int]):
    """mov between a register and the parts of it in a vector, lowest first."""
    target, source = i.operands
    parts = target if isinstance(target, Vector) else source
    width = 8 * TYPE_BYTES[i.modifiers[-1]] // len(parts.elements)
    if isinstance(target, Vector):
        wanted = 0
        for n, part in enumerate(parts.elements):
            for name in isa.registers_in(part):
                wanted |= (of.get(name, 0) & ((1 << width) - 1)) << (n * width)
        for name in isa.registers_in(source):
            yield name, wanted
    else:
        wanted = of.get(isa.registers_in(target)[0], 0)
        for n, part in enumerate(parts.elements):
            for name in isa.registers_in(part):
                yield name, wanted >> (n * width) & ((1 << width) - 1)
