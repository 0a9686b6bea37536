"""That two programs in machine code do the same: they store the same values at the same addresses.

Both are executed symbolically, block by block. A value is a number for an expression: the key of an
instruction and the values that it reads. What is in the registers when the kernel starts is
unknown, and the same in both. What holds at the start of another block is not guessed but
refined: at first all registers of both programs that have one value on one path are one, and each
further path, the way around a loop too, may only separate them, until nothing changes. That is an
induction over the passes of all loops. Then, in each block, the branches, the barriers, the stores,
the copies and the loads of both programs must be the same expressions.

The programs have the same blocks, and what touches memory has the same order in both, but for loads
from shared memory. Such a load stays between the same barriers, stores and waits. Over an
asynchronous copy it may move up, but not down: it does not read what the copy writes, or the source
would have a race, which `sanitize` excludes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from anywarp.sass import Instruction, elf, flow, instructions
from anywarp.sass.encoding import PLACES, ZERO

from . import hazards

SPARE = 3  # registers that a kernel asks for beyond its highest: that one counts, and two more
NOTHING = -1  # the value of RZ; below are those that registers have when a block begins
PRODUCT = 0x223  # the key of an FFMA without modifiers
COPY = "LDGSTS"
LOAD = "LDS"
UNORDERED = {COPY, hazards.COMMIT, "LDG", "S2R", "S2UR"}  # which a load may pass
Classes = tuple[dict[int, int], dict[int, int]]  # by register of each program


class Different(ValueError):
    """What the proof found that does not hold."""


@dataclass
class Values:
    """Numbers for expressions: equal numbers are equal expressions."""

    known: dict[Hashable, int] = field(default_factory=dict)

    def of(self, *expression: Hashable) -> int:
        """The number of an expression."""
        return self.known.setdefault(expression, len(self.known))


@dataclass
class Run:
    """A block executed symbolically: the values of registers; what is done to memory, in order,
    with the branch at the end; and the loads from shared memory, each with how many copies have
    been started before."""

    registers: dict[int, int]
    effects: list[tuple[Hashable, ...]] = field(default_factory=list)
    loads: dict[int, list[int]] = field(default_factory=dict)

    def read(self, places: Iterable[int]) -> tuple[int, ...]:
        """The values of registers."""
        return tuple(NOTHING if place == ZERO else self.registers[place] for place in places)


def prove(original: bytes, rewritten: bytes) -> None:
    """Raises Different, with all that is wrong, unless the second cubin does what the first does,
    and does not depend on what the hardware leaves open; Unknown if it cannot be told."""
    before, after = instructions(original), instructions(rewritten)
    wrong = differences(before, after) + hazards.findings(after)
    if wrong := wrong + _resources(original, rewritten, after):
        raise Different("\n".join(wrong))


def _resources(original: bytes, rewritten: bytes, code: Sequence[Instruction]) -> list[str]:
    """What is wrong outside of the code."""
    highest = max(place for i in code for place in (*i.writes, *i.places_read) if place < 255)
    count = elf.registers(rewritten)
    wrong = {
        f"{count} registers do not hold R{highest} and what the hardware adds": (
            not highest + SPARE <= count <= 255
        ),
        "the loader changes the code": elf.relocated(original),
        "more than the code and the number of registers differs": (
            elf.outside(original) != elf.outside(rewritten)
        ),
    }
    return [text for text, holds in wrong.items() if holds]


def differences(before: Sequence[Instruction], after: Sequence[Instruction]) -> list[str]:
    """What the two programs do differently; nothing if they do the same."""
    parts = flow.blocks(before)
    if len(before) != len(after) or parts != flow.blocks(after):
        return ["the programs do not have the same blocks"]
    values = Values()
    start = {place: place for place in PLACES}
    entries: dict[int, Classes] = {0: (start, start)}

    def run(first: int) -> tuple[Run, Run]:
        old, new = entries[first]
        part = parts[first]
        return _run(before, part, old, values), _run(after, part, new, values)

    todo = {0}
    while todo:
        first = min(todo)
        todo.remove(first)
        old, new = run(first)
        for successor in parts[first].successors:
            known = entries.get(successor)
            entries[successor] = _refine((old.registers, new.registers), known)
            if known is None or _size(known) != _size(entries[successor]):
                todo.add(successor)
    return [f"block at {n}: {text}" for n in sorted(parts) for text in _compare(*run(n))]


def _size(classes: Classes) -> int:
    """How many classes there are: refining makes more, or changes nothing."""
    old, new = classes
    return len({*old.values(), *new.values()})


def _refine(reached: Classes, known: Classes | None) -> Classes:
    """Which registers have the same value, in classes with numbers, as far as all paths say."""
    numbers: dict[tuple[int, int], int] = {}
    before = known or [dict.fromkeys(registers, 0) for registers in reached]
    first, second = (
        {place: numbers.setdefault((v, old[place]), len(numbers)) for place, v in now.items()}
        for now, old in zip(reached, before)
    )
    return first, second


def _run(
    code: Sequence[Instruction], part: flow.Block, classes: dict[int, int], values: Values
) -> Run:
    """Execute a block; registers of one class begin with one value."""
    run = Run({place: NOTHING - 1 - n for place, n in classes.items()})
    fences = copies = 0
    for i in code[part.first : part.end]:
        if i.never or i.name == "NOP":
            continue
        operands = tuple(map(run.read, i.reads))
        guard = (run.read(i.guard[:1]), i.guard[1]) if i.guard else None
        if i.name == LOAD:
            value = values.of(i.key, operands, guard, "memory", part.first, fences)
            run.loads.setdefault(value, []).append(copies)
        elif i.pure:
            if i.key == PRODUCT:  # whose factors may change places
                operands = (*sorted(operands[:2]), operands[2])
            value = values.of(i.key, operands)
        else:
            value = values.of(i.key, operands, guard, "memory", part.first, len(run.effects))
            counter = i.control.write if i.name == hazards.COMMIT else None
            run.effects.append((i.key, operands, guard, counter))
            fences += i.name not in UNORDERED
            copies += i.name == COPY
        for n, place in enumerate(i.results):
            if place != ZERO:
                new = values.of("result", value, n)
                old = run.registers[place]
                run.registers[place] = values.of("if", guard, new, old) if guard else new
    return run


def _compare(old: Run, new: Run) -> list[str]:
    """What two blocks do differently."""
    different = []
    if old.effects != new.effects:
        pairs = zip(old.effects, new.effects)
        n = next((n for n, (a, b) in enumerate(pairs) if a != b), "last")
        different.append(f"what they do to memory differs, of {len(old.effects)} the number {n}")
    if old.loads.keys() != new.loads.keys():
        lost = len(old.loads.keys() - new.loads.keys())
        different.append(f"{lost} loads from shared memory are missing or in another place")
    for value in old.loads.keys() & new.loads.keys():
        if max(new.loads[value]) > max(old.loads[value]):
            different.append("a load from shared memory moved down over an asynchronous copy")
    return different
