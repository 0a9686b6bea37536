"""Where the multiply-adds of a hot loop get their operands.

An FMA reads three registers. One that the instruction before marked with .reuse is at hand in the
same place of the next; the others are fresh, and come from the two banks of the register file,
even numbers from one and odd ones from the other. That was found on GPUs of compute capability
7.0 (Jia 2018); NVIDIA documents neither the banks nor the flags. What they cost, only a GPU can
tell: see `benchmarks.experiments`, "reuse" and "14 unrolled".
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .decode import Instruction, decode
from .hot_loop import CODES, REUSE, hot_words

REGISTER_FORM = 2  # of an FMA: three registers, no constant
ZERO = 255  # a register that is not stored


class Operands(NamedTuple):
    """Of the FMAs in one pass through a hot loop: how many there are, how many read three fresh
    registers, and how many of these read them all from one bank."""

    fmas: int
    three_fresh: int
    one_bank: int


def fma_operands(kernel: Any, arch: str = "sm_90") -> Operands:
    """What the FMAs of the hot loop of a Kernel or a Step read. Raises CompileError."""
    fmas = three = one_bank = 0
    kept: dict[int, int] = {}  # by place of the operand, the register that is at hand there
    for word in hot_words(kernel, arch).tolist():
        registers = dict(enumerate((word[0] >> 24 & 255, word[1] & 255, word[2] & 255)))
        if CODES.get(word[0] & 0xFFF) == "fma":
            fmas += 1
            if word[0] >> 8 & 15 == REGISTER_FORM:
                fresh = {r for n, r in registers.items() if kept.get(n) != r and r != ZERO}
                three += len(fresh) == 3
                one_bank += len(fresh) == 3 and len({r % 2 for r in fresh}) == 1
        flags = (word[3] & REUSE) >> 26
        kept = {n: r for n, r in registers.items() if flags >> n & 1}
    return Operands(fmas, three, one_bank)


def operand_cycles(kernel: Any, arch: str = "sm_90") -> int:
    """In how many cycles the FMAs in one pass through the hot loop get their operands.

    An FMA takes one, and two if two of its fresh registers lie in one bank, as of three always two
    do. An operand that is marked stays at hand, in its place and for its bank, until an instruction
    that computes reads another register there. It is a model, and not exact: in the experiment
    "reuse" an FMA with three fresh registers took a little less than two cycles in 13 and 14;
    "19 orders" compares it with each order. Raises CompileError, and machine.Unknown for an
    instruction that is not known.
    """
    kept: dict[tuple[int, int], int] = {}
    cycles = 0
    for row in hot_words(kernel, arch):
        i = decode(int.from_bytes(row.tobytes(), "little"))
        if i.kind in ("alu", "wide"):
            fresh = _read(i, kept)
            cycles += (i.name == "FFMA") * (1 + (len({r % 2 for r in fresh}) < len(fresh)))
    return cycles


def _read(i: Instruction, kept: dict[tuple[int, int], int]) -> set[int]:
    """The registers that are not at hand, and what is at hand afterwards."""
    fresh = set()
    for place, register in enumerate(i.slots):
        if register >= 0:
            cache = place, register % 2
            if kept.get(cache) != register:
                fresh.add(register)
            kept.pop(cache, None)
            if i.control.reuse >> place & 1:
                kept[cache] = register
    return fresh
