"""Facts about registers that can be read off PTX: which are needed, and how addresses are aligned.

Both are what ptxas can know without running the kernel, no more: `folding` decides with them.
"""

from __future__ import annotations

from ..ptx.memory import lay_out
from ..ptx.syntax import Address, Entry, Immediate, Instruction, Register, Symbol, Vector

# Instructions that stay whether or not their result is used, and those without a result.
KEPT = {
    "st",
    "red",
    "atom",
    "cp",
    "bar",
    "barrier",
    "bra",
    "brx",
    "ret",
    "exit",
    "trap",
    "membar",
    "fence",
    "shfl",
    "vote",
    "redux",
    "match",
    "nanosleep",
    "prefetch",
    "prefetchu",
}
NO_RESULT = KEPT - {"atom", "shfl", "vote", "redux", "match"}
STRONG = {"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"}  # done as written

ANY = 12  # log2 of the alignment of what is aligned to whatever matters
DYNAMIC = 4  # of dynamic shared memory: 16 bytes, whatever the declaration says


def registers_in(operand) -> list[str]:
    if isinstance(operand, Register):
        return [operand.name.lstrip("!")]
    if isinstance(operand, Address):
        return registers_in(operand.base)
    if isinstance(operand, Vector):
        return [name for element in operand.elements for name in registers_in(element)]
    return []


def results(i: Instruction) -> list[str]:
    """The registers that the instruction writes."""
    return [] if i.opcode in NO_RESULT or not i.operands else registers_in(i.operands[0])


def sources(i: Instruction) -> list[str]:
    """The registers that it reads."""
    operands = i.operands if i.opcode in NO_RESULT else i.operands[1:]
    guard = [i.guard.name] if i.guard else []
    return guard + [name for operand in operands for name in registers_in(operand)]


def needed(entry: Entry) -> tuple[set[str], set[int]]:
    """Registers that somebody reads to an end, and the ids of the instructions that compute
    nothing else and are left out."""
    registers: set[str] = set()
    waiting = list(entry.instructions)
    while True:
        kept = [
            i
            for i in waiting
            if i.opcode in KEPT or STRONG & set(i.modifiers) or not registers.isdisjoint(results(i))
        ]
        if not kept:
            return registers, {id(i) for i in waiting}
        for i in kept:
            registers.update(sources(i))
        chosen = {id(i) for i in kept}
        waiting = [i for i in waiting if id(i) not in chosen]


class Alignment:
    """How many low bits of each register are zero whatever the kernel is given.

    A register that is written in several places has the fewest of them. Function parameters,
    loaded values and the addresses of global variables have none. `proven` adds what an access
    that needs an alignment says of its address.
    """

    def __init__(self, entry: Entry):
        self.definitions: dict[str, list[Instruction]] = {}
        for i in entry.instructions:
            for name in results(i):
                self.definitions.setdefault(name, []).append(i)
        shared, _ = lay_out([v for v in entry.variables if v.space == "shared"])
        self.places = {a.name: a.start for a in shared}  # of static shared arrays
        self.symbols = {
            v.name: DYNAMIC for v in entry.variables if v.space == "shared" and v.size == 0
        }
        for name in self.symbols:
            del self.places[name]
        self.zeros = dict.fromkeys(self.definitions, ANY)
        changed = True
        while changed:  # downwards from the best: loops may keep an alignment
            changed = False
            for name, found in self.definitions.items():
                least = min(self._made(i, self._of) for i in found)
                changed |= least != self.zeros[name]
                self.zeros[name] = least

    def of(self, name: str, proven: dict[str, int]) -> int:
        """Zero bits of a register where the registers in `proven` are known to have so many."""
        found = self.definitions.get(name, [])
        best = max(self.zeros.get(name, 0), proven.get(name, 0))
        if len(found) == 1 and not self._given(found[0]):
            best = max(best, self._made(found[0], lambda operand: self._with(operand, proven)))
        return best

    def _with(self, operand, proven) -> int:
        if not isinstance(operand, Register):
            return self._of(operand)
        found = self.definitions.get(operand.name, [])
        if len(found) == 1 and self._given(found[0]):  # read anew from the parameters
            return self.zeros[operand.name]
        return self.of(operand.name, proven)

    def _given(self, i: Instruction) -> bool:
        """A parameter, or its address made global."""
        if i.opcode == "cvta" and isinstance(i.operands[1], Register):
            return all(map(self._given, self.definitions.get(i.operands[1].name, [])))
        return i.opcode == "ld" and "param" in i.modifiers

    def _of(self, operand) -> int:
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
    def _made(i: Instruction, of) -> int:
        x = i.operands[1:]
        match i.opcode:
            case "mov" | "cvta" | "cvt" | "neg" | "abs" if not isinstance(x[0], Vector):
                return of(x[0])
            case "add" | "sub" | "or" | "xor" | "min" | "max" | "selp":
                return min(of(x[0]), of(x[1]))
            case "and":
                return min(ANY, max(of(x[0]), of(x[1])))
            case "shl" if isinstance(x[1], Immediate):
                return min(ANY, of(x[0]) + x[1].value)
            case "shl":
                return of(x[0])
            case "shr" if isinstance(x[1], Immediate):
                return max(0, of(x[0]) - x[1].value)
            case "mul" if "hi" not in i.modifiers:
                return min(ANY, of(x[0]) + of(x[1]))
            case "mad" if "hi" not in i.modifiers:
                return min(ANY, of(x[0]) + of(x[1]), of(x[2]))
        return 0


def bits(number: int) -> int:
    """Zero bits at the low end."""
    return ANY if number == 0 else min(ANY, (number & -number).bit_length() - 1)
