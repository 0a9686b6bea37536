"""An entry with what PTX leaves unsaid written out: the carry flag, and fused multiply-adds.

The instructions stay as many and where they are, so that labels, lines and indices keep their
meaning.
"""

from __future__ import annotations

import weakref
from dataclasses import replace

from .contraction import contract
from .syntax import Function, Instruction, Register, Vector

CARRY = Register("%CC.CF")
SETS = {"add", "sub", "mad", "addc", "subc", "madc"}  # with .cc
READS = {"addc", "subc", "madc"}


# None: nothing was unsaid, and the entry stands for itself, which a value would keep alive.
_known: weakref.WeakKeyDictionary[Function, Function | None] = weakref.WeakKeyDictionary()


def explicit(entry: Function) -> Function:
    """The entry as it is decoded; the same one for the same entry, as long as that lives: who
    counts what its instructions do knows them by id()."""
    if entry not in _known:
        made = contract(carry(entry))
        _known[entry] = None if made is entry else made
    return _known[entry] or entry


def carry(entry: Function) -> Function:
    """`add.cc d, a, b` -> `add.cc {d, %CC.CF}, a, b`; `addc d, a, b` -> `addc d, a, b, %CC.CF`."""
    code = tuple(_with_carry(i) for i in entry.instructions)
    if all(new is old for new, old in zip(code, entry.instructions)):
        return entry
    return replace(entry, instructions=code, registers={**entry.registers, CARRY.name: "b64"})


def _with_carry(i: Instruction) -> Instruction:
    """The instruction with the carry flag among its operands, if it sets or reads it."""
    if i.opcode not in READS and not (i.opcode in SETS and "cc" in i.modifiers):
        return i
    target, *sources = i.operands
    if "cc" in i.modifiers:
        target = Vector((target, CARRY))
    if i.opcode in READS:
        sources.append(CARRY)
    return replace(i, operands=(target, *sources))
