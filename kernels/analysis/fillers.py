"""The loads of shared memory that ptxas puts before copies by cp.async.

Before the first cp.async of a straight run of code ptxas writes three times `@!PT LDS RZ, [RZ]`:
loads that no lane takes part in. A warp executes them all the same, and Nsight Compute counts them
in `smsp__inst_executed_op_shared_ld.sum`. They are no wavefronts of shared loads, but each takes
one of the data pipe (`instruments.beside`). They come again after an access to shared memory, also
a generic one, and after a barrier, of the block or of the warp. Accesses to global memory, waits
for copies, fences, shuffles and votes call for none; nor do branches that become predicates
(`predication`). Not modelled: a fence after a cp.async brings one by itself.

Read off the machine code that ptxas 13.0 makes for sm_90 of twenty small kernels, and confirmed by
counting on an H200; NVIDIA documents none of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ptx import flow, isa
from ..ptx.syntax import Entry, Instruction
from .predication import Predicated

LOADS = 3


def fillers(entry: Entry, predicated: Sequence[Predicated]) -> dict[int, int]:
    """By index of an instruction, how many such loads a warp executes that comes by it."""
    blocks = flow.blocks(entry)
    number = {n: k for k, block in enumerate(blocks) for n in block}
    before = flow.predecessors(flow.successors(entry, blocks))
    branch_of = {n: each.branch for each in predicated for n in each.body}
    inside = {number[n]: number[branch] for n, branch in branch_of.items()}
    found: dict[int, int] = {}
    needed = True
    for k, block in enumerate(blocks):
        # a body under a predicate, and what follows it, goes on with the code before it
        origins = {inside.get(n, n) for n in before[k]}
        needed = needed or not (k in inside or origins == {inside.get(k - 1)})
        for i in map(entry.instructions.__getitem__, block):
            if is_copy(i):
                if needed:
                    found[branch_of.get(i.index, i.index)] = LOADS
                needed = False
            elif isa.lookup(i).ends == "wait" and i.opcode in ("bar", "barrier"):
                needed = True
            elif reaches_shared(i):
                needed = True
    return found


def is_copy(i: Instruction) -> bool:
    return i.opcode == "cp" and i.modifiers[0] == "async" and i.modifiers[1] in ("ca", "cg")


def reaches_shared(i: Instruction) -> bool:
    accesses = isa.lookup(i).memory not in ("", "fence")
    return accesses and not {"shared", "generic"}.isdisjoint(isa.spaces(i))
