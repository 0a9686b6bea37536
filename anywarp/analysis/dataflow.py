"""Facts about registers that can be read off PTX: which are needed, and how addresses are aligned.

Both are what ptxas can know without running the kernel, no more: `folding` decides with them.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Iterable
from typing import Any

from ..ptx.memory.allocations import lay_out
from ..ptx.text import flow, isa
from ..ptx.text.syntax import Entry, Immediate, Instruction, Register, Symbol, Vector

ANY = 12  # log2 of the alignment of what is aligned to whatever matters
WORD = 4  # bytes; arrays in shared memory that are aligned to less have no more than that
Registers = dict[str, list[Instruction]]  # by name
DYNAMIC = 4  # of dynamic shared memory: 16 bytes, whatever the declaration says


def definitions(entry: Entry) -> Registers:
    """By register, the instructions that write it."""
    return _by_register(entry, isa.written)


def users(entry: Entry) -> Registers:
    """By register, the instructions that read it."""
    return _by_register(entry, isa.read)


@functools.lru_cache(maxsize=32)
def _by_register(entry: Entry, registers: Callable[[Instruction], Iterable[str]]) -> Registers:
    """The instructions by the registers that each has."""
    result: Registers = {}
    for i in entry.instructions:
        for name in registers(i):
            result.setdefault(name, []).append(i)
    return result


def needed(entry: Entry) -> tuple[set[str], set[int]]:
    """Registers that somebody reads to an end, and the indices of the instructions that compute
    nothing else and are left out."""
    makers = definitions(entry)
    sources: dict[str, list[str]] = collections.defaultdict(list)
    for name, each in makers.items():
        sources[name] = [x for i in each for x in isa.read(i)]
    ends = [i for i in entry.instructions if isa.kept(i)]
    registers = flow.reached((x for i in ends for x in isa.read(i)), sources)
    kept = {i.index for i in ends} | {i.index for x in registers for i in makers.get(x, ())}
    return registers, set(range(len(entry.instructions))) - kept


class Alignment:
    """How many low bits of each register are zero whatever the kernel is given.

    A register that is written in several places has the fewest of them. Function parameters and
    loaded values have none, addresses of variables what is declared. Each register is looked at
    again only where one that it is made from has changed.
    """

    def __init__(self, entry: Entry) -> None:
        self.definitions = definitions(entry)
        shared, _ = lay_out([v for v in entry.variables if v.space == "shared"])
        self.symbols = {  # of variables whose place does not tell
            v.name: bits(v.align) if v.size else DYNAMIC
            for v in entry.variables
            if v.space == "global" or (v.space == "shared" and (not v.size or v.align < WORD))
        }
        self.places = {a.name: a.start for a in shared if a.name not in self.symbols}
        self.zeros = dict.fromkeys(self.definitions, ANY)
        todo = dict.fromkeys(self.definitions)
        while todo:  # downwards from the best: loops may keep an alignment
            name = next(iter(todo))
            del todo[name]
            least = min(self._made(i, self._of) for i in self.definitions[name])
            if least != self.zeros[name]:
                self.zeros[name] = least
                todo |= {x: None for i in users(entry).get(name, ()) for x in isa.written(i)}

    def of(self, name: str) -> int:
        """Zero bits of a register or a variable's address."""
        return self.zeros.get(name, self.symbols.get(name, 0))

    def _of(self, operand: Any) -> int:
        """Zero bits of an operand."""
        if isinstance(operand, Register):
            return self.zeros.get(operand.name, 0)
        if isinstance(operand, Immediate) and isinstance(operand.value, int):
            return bits(operand.value)
        if isinstance(operand, Symbol):
            if operand.name in self.places:
                return bits(self.places[operand.name] + operand.offset)
            return min(self.symbols.get(operand.name, 0), bits(operand.offset))
        return 0

    @staticmethod
    def _made(i: Instruction, of: Callable[[Any], int]) -> int:
        """Zero bits of what an instruction makes, given those of its operands."""
        x = i.operands[1:]
        match i.opcode:
            case "mov" | "cvta" | "cvt" | "neg" | "abs" if not isinstance(x[0], Vector):
                return of(x[0])
            case "add" | "sub" | "or" | "xor" | "min" | "max" | "selp":
                return min(of(x[0]), of(x[1]))
            case "and":
                return min(ANY, max(of(x[0]), of(x[1])))
            case "shl" if isinstance(x[1], Immediate):
                return min(ANY, of(x[0]) + int(x[1].value))
            case "mul" if "hi" not in i.modifiers:
                return min(ANY, of(x[0]) + of(x[1]))
            case "mad" if "hi" not in i.modifiers:
                return min(ANY, of(x[0]) + of(x[1]), of(x[2]))
        return 0


def bits(number: int) -> int:
    """Zero bits at the low end."""
    return ANY if number == 0 else min(ANY, (number & -number).bit_length() - 1)
