"""The loads of shared memory that ptxas puts before copies by cp.async, and before fences.

Before the first cp.async of a straight run of code ptxas writes three times `@!PT LDS RZ, [RZ]`:
loads that no lane takes part in. A warp executes them all the same, and Nsight Compute counts them
in `smsp__inst_executed_op_shared_ld.sum`. They are no wavefronts of shared loads, but each takes
one of the data pipe (`trace.pipe_overheads`). They come again after an access to shared memory,
also a generic one, and after a barrier, of the block, the warp or the cluster. Accesses to global
memory, wgmma, waits for copies, shuffles and votes call for none; nor do branches that become
predicates (`predication`).

A fence of a kernel with such copies has the same three where the next copy would have had them,
which then has none, and one more, unless the last fence is all that has come since. So has an
arrival at a barrier of the cluster. Not modelled: stores, atomics and arrivals at mbarriers that
release, which are fences too, and that all four always come at a barrier of the cluster;
fence.proxy.alias, which has the loads twice.

Read off the machine code for sm_90 of small kernels. Confirmed by counting on an H200, of fences in
step 18 with CLUSTER=1 and in Triton's products with wgmma; NVIDIA documents none of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ptx.text import flow, isa
from ..ptx.text.syntax import Entry, Instruction
from .predication import Predicated, is_copy

LOADS = 3
OF_A_FENCE = 1


def fillers(entry: Entry, predicated: Sequence[Predicated]) -> dict[int, int]:
    """By index of an instruction, how many such loads a warp executes that comes by it."""
    if not any(map(is_copy, entry.instructions)):
        return {}
    blocks = flow.blocks(entry)
    number = {n: k for k, block in enumerate(blocks) for n in block}
    before = flow.predecessors(flow.successors(entry, blocks))
    branch_of = {n: each.branch for each in predicated for n in each.body}
    inside = {number[n]: number[branch] for n, branch in branch_of.items()}
    loads_at: dict[int, int] = {}
    needed = unfenced = True
    for k, block in enumerate(blocks):
        # a body under a predicate, and what follows it, goes on with the code before it
        origins = {inside.get(n, n) for n in before[k]}
        if not (k in inside or origins == {inside.get(k - 1)}):
            needed = unfenced = True
        for i in map(entry.instructions.__getitem__, block):
            if (fence := is_fence(i)) or is_copy(i):
                if loads := LOADS * needed + OF_A_FENCE * (fence and unfenced):
                    at = branch_of.get(i.index, i.index)
                    loads_at[at] = loads_at.get(at, 0) + loads
                needed, unfenced = False, not fence
            if brings_them_again(i):
                needed = unfenced = True
    return loads_at


def is_fence(i: Instruction) -> bool:
    """Whether the machine has a MEMBAR for it, or before it."""
    if isa.name(i) == "fence.proxy":
        return "async" in i.modifiers and "global" not in i.modifiers
    if i.opcode == "barrier":
        return {"arrive", "cluster"} <= {*i.modifiers} and "relaxed" not in i.modifiers
    return isa.name(i) in ("membar", "fence")


def brings_them_again(i: Instruction) -> bool:
    """Whether the next copy has such loads again."""
    if i.opcode in ("bar", "barrier"):
        return bool(isa.lookup(i).ends == "wait")
    accesses = isa.lookup(i).memory not in ("", "fence") and i.opcode != "wgmma"
    return accesses and not is_copy(i) and not {"shared", "generic"}.isdisjoint(isa.spaces(i))
