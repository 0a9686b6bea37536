"""How many FFMA instructions of the machine each instruction of the PTX becomes.

ptxas writes a division, a square root and a reciprocal that round as a few FFMAs on an
approximation, and fuses products with sums (`ptx.text.contraction`). Read off the machine code that
NVRTC 12.9 makes for sm_90.

The numbers are those of the usual path. Operands of extreme size, zeros among them, infinities
and NaNs take a slow one, which depends on the data and is not counted: at most 12 more for each
thread and division, 5 for a reciprocal, 3 for a square root; or 2 fewer of the last two.
"""

from __future__ import annotations

from ..ptx.text.contraction import fused
from ..ptx.text.syntax import Entry, Instruction
from .folding import Folding

EXPANSIONS = {"div": 5, "sqrt": 2, "rcp": 2}
ROUNDINGS = {"rn", "rz", "rm", "rp"}
SQRT_DOWN = 4  # .rz and .rm


def multiply_adds(entry: Entry, folding: Folding | None) -> dict[int, int]:
    """By index of an instruction, the FFMAs of a thread that executes it; those with none are
    left out. folding: what ptxas drops; None for the PTX as it is."""
    removed = frozenset() if folding is None else folding.removed
    sums = {} if folding is None else fused(entry)
    return {
        i.index: count
        for i in entry.instructions
        if i.index not in removed and (count := 1 if i.index in sums and _f32(i) else _own(i))
    }


def _f32(i: Instruction) -> bool:
    """Whether it is of float32."""
    return i.modifiers[-1:] == ("f32",)


def _own(i: Instruction) -> int:
    """Those that it makes by itself."""
    if i.opcode == "div" and i.modifiers == ("rn", "f64"):
        return 1  # tests the quotient's size
    if not _f32(i):
        return 0
    if i.opcode in ("fma", "mad"):
        return 1
    if i.opcode == "sqrt" and {"rz", "rm"} & set(i.modifiers):
        return SQRT_DOWN
    return EXPANSIONS.get(i.opcode, 0) if ROUNDINGS & set(i.modifiers) else 0
