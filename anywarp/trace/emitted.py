"""What ptxas makes of a kernel's instructions, as far as counting has to know; found out once.

Everything is kept by id() of an instruction, since each function counts its own from 0; the
functions, which are kept too, keep them alive, those of `explicit` included.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable
from typing import Any

from .. import ptx
from ..analysis.fillers import fillers
from ..analysis.folding import Folding, Part, fold
from ..analysis.multiply_adds import multiply_adds
from ..analysis.predication import is_copy, predicated
from ..ptx.calls.functions import linked
from ..ptx.text import isa
from ..ptx.text.contraction import explicit
from .metrics import KINDS

MATRIX = ("ldmatrix", "stmatrix")


class Emitted:
    """`parts`: the accesses that an access becomes, where it does not stay as written.
    `multiply_adds`: how many an instruction is. `under`: predicated accesses of shared memory,
    copies of cp.async and stores to global memory; `passed`: for each instruction that warps come
    by, how many of these they execute under predicates there, as "ld" and "st" of shared memory and
    "" of the others. `shared`: what the machine has as LDS and STS, which reach the own block's
    shared memory and no other. `functions`: the kernel and those that it calls."""

    def __init__(self, entry: ptx.Entry, folded: bool):
        self.parts: dict[int, tuple[Part, ...]] = {}
        self.multiply_adds: dict[int, int] = {}
        self.under: set[int] = set()
        self.passed: dict[int, Counter[str]] = {}
        self.shared: set[int] = set()
        self.functions = (entry, *linked(entry))
        for function in self.functions:
            self._learn(function, fold(function) if folded else None)

    def _learn(self, function: Any, folding: Folding | None) -> None:
        """Of an Entry or a Function."""
        code, written = function.instructions, explicit(function).instructions
        for n, count in multiply_adds(function, folding).items():
            self.multiply_adds[id(code[n])] = self.multiply_adds[id(written[n])] = count
        if folding is not None:
            self.parts |= {id(code[n]): parts for n, parts in folding.parts.items()}
            branches = predicated(function, folding)
            for branch, body in branches:
                self._predicate(code[branch], [code[n] for n in body])
            for n, loads in fillers(function, branches).items():
                self.passed.setdefault(id(code[n]), Counter())["ld"] += loads
        for i in code:
            if i.guard is not None:
                self._predicate(i, [i])
            own = isa.space(i) == "shared" and "shared::cluster" not in i.modifiers
            if own and i.opcode not in MATRIX:
                self.shared.add(id(i))

    def _predicate(self, at: ptx.Instruction, body: Iterable[ptx.Instruction]) -> None:
        """Whoever comes to the instruction `at` executes the body, active or not."""
        for i in body:
            does, copies = isa.lookup(i), is_copy(i)
            plain = {does.memory, does.kind} <= KINDS.keys() and i.opcode not in MATRIX
            shared = plain and isa.space(i) == "shared"
            stores = plain and isa.space(i) == "global" and does.memory == "store"
            if shared or stores or copies:
                what = KINDS[does.memory] if shared else ""
                self.passed.setdefault(id(at), Counter())[what] += len(self.parts.get(id(i), "1"))
                self.under.add(id(i))

    def parts_of(self, event: ptx.Access) -> tuple[Part, ...]:
        """The accesses that the machine makes of this one; of 32 bytes, which no GPU was asked
        about, two of 16."""
        halves = tuple(Part(n, min(event.width, 16)) for n in range(0, event.width, 16))
        return self.parts.get(id(event.instruction), halves)


emitted = functools.lru_cache(maxsize=64)(Emitted)
