"""The instruction mix of a kernel's hot loop, counted in its PTX.

PTX is what the compiler hands to ptxas, which writes the machine's own instructions: it merges
shared loads, folds address arithmetic and schedules, so that counts there differ somewhat. FMAs
do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..ptx.text import isa
from ..ptx.text.syntax import Instruction
from .loops import loops, own

CLASSES = (
    *("fma", "shared load", "shared store", "global load", "global store"),
    *("local load", "local store", "async copy", "integer", "control", "other"),
)
COUNTED_SPACES = {"shared", "global", "local"}
FLOAT = re.compile(r"(f|bf|tf)\d|e\dm\d")  # types


@dataclass(frozen=True, repr=False)
class Mix:
    """What one pass through a loop executes, all guards true.

    `counts` has every name of `CLASSES`; `instructions` are those counted, in order; `is_loop`
    is False where the kernel has no loop with an FMA and its whole body was counted. An unrolled
    loop counts as it is: four iterations in a pass, four times the FMAs.
    """

    counts: dict[str, int]
    instructions: tuple[Instruction, ...]
    is_loop: bool

    @property
    def total(self) -> int:
        """Instructions."""
        return len(self.instructions)

    def __repr__(self) -> str:
        what = "in one pass of the hot loop" if self.is_loop else "in the body, without loops"
        rows = [(n, n / self.total, name) for name, n in self.counts.items() if n]
        lines = [f"{n:>6}  {share:>5.1%}  {name}" for n, share, name in rows]
        return "\n".join([f"{self.total} PTX instructions {what}", *lines])


def instruction_mix(kernel: Any) -> Mix:
    """The mix of the hot loop of a `ptx.Entry`, a Kernel or a Step.

    Each instruction belongs to the innermost loop around it. The hot loop is the one with most
    float32 FMAs of its own (the first of equals), so it is the inner loop over k, or the loop
    over tiles where that one is unrolled; what a loop nested inside executes is not counted.
    """
    entry: Any = getattr(kernel, "kernel", kernel)  # a Step has a kernel, a Kernel an entry
    entry = getattr(entry, "entry", entry)
    kinds = [instruction_class(i) for i in entry.instructions]

    def fmas(indices: Iterable[int]) -> int:
        return sum(kinds[n] == "fma" for n in indices)

    hot = max(own(loops(entry)), key=fmas, default=frozenset())
    is_loop = fmas(hot) > 0
    indices = sorted(hot) if is_loop else range(len(kinds))
    counts = dict.fromkeys(CLASSES, 0)
    for n in indices:
        counts[kinds[n]] += 1
    return Mix(counts, tuple(entry.instructions[n] for n in indices), is_loop)


def instruction_class(instruction: Instruction) -> str:
    """The one of `CLASSES` that a `ptx.Instruction` belongs to.

    "fma" is fma.f32. A vector access is one instruction. "integer" is arithmetic, comparison and
    conversion of integers, and of predicates, addresses included. "other" is the rest: moves,
    other floating point, loads of parameters, atomics, exchange within a warp.
    """
    kind, space = isa.lookup(instruction).kind, isa.space(instruction)
    if instruction.opcode == "fma" and instruction.modifiers[-1] == "f32":
        return "fma"
    if kind in ("load", "store"):
        return f"{space} {kind}" if space in COUNTED_SPACES else "other"
    if kind in ("async copy", "control"):
        return str(kind)
    integer = kind == "arithmetic" and not any(map(FLOAT.match, instruction.modifiers))
    return "integer" if integer else "other"


def fma_to_load_share(mix: Mix) -> float:
    """FMAs of the FMAs and the loads that bring their operands: F / (F + L).

    Both are PTX instructions in the hot loop: a float4 load is one load, whatever it brings. L
    are loads from shared memory; address arithmetic, branches, stores, and global loads of the
    next tile do not count. A dot product with two scalar loads has 1/3, a column of four from a
    float4 and a scalar 4/6, a 4x4 outer product from two float4 16/18, an 8x8 from four 64/68.
    It is the share of "effective" instructions in wu-kan, "CUDA矩阵乘法的优化" (Optimising matrix
    multiplication in CUDA), 2019, which has no number for a loop without shared memory; here the
    loads of such a loop from global memory count instead.
    Raises ValueError if there is no FMA.
    """
    fmas = mix.counts["fma"]
    if not fmas:
        raise ValueError("there is no FMA to compare the loads with")
    return fmas / (fmas + (mix.counts["shared load"] or mix.counts["global load"]))
