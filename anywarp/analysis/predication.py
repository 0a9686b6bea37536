"""Which branches ptxas does without: short ones become predicates on the instructions.

A warp that comes by a predicated instruction executes it, also with no lane active, and Nsight
Compute counts it in `smsp__inst_executed_op_shared_ld.sum` and `…_st.sum`. Behind a branch it
would not.

Found by compiling with NVRTC 12.9 for sm_90 and reading the machine code; NVIDIA documents none
of it:

- The body is straight-line code that ends where the branch leads to, without a jump over others, or
  a body and an else of that kind. A branch to the end of the kernel becomes a predicated exit, and
  stays one.
- It has at most 8 machine instructions where lanes may differ in the condition, 6 where the whole
  block has one (made of parameters, block indices, and what is loaded from such addresses). With
  an else, at most 8 and 7, or 5 and 5. Loads, stores and arithmetic count alike. Where only the
  else is short, it may become predicates alone; that is not modelled.
- With a cp.async it may have 16, whatever the condition; few with a store before the copy, or with
  more than 12, have been looked at.
- It has no barrier, fence, shuffle, vote, atomic or call, nothing that is
  predicated already (so of nested branches only the inner one goes), and nothing that becomes a
  loop or a call in machine code: division, remainder, and square roots and reciprocals that round.

Parameters are operands, but one that is added to a 64-bit product has to be brought to a register;
other sums of 64 bits are two instructions.

How many machine instructions the PTX makes is an estimate (`_cost`), so that bodies of 6 to 10
may be taken for the wrong form. Then the counters of shared instructions are off by at most the
body's shared accesses times the warps that come by with no lane active; no other counter is.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from typing import NamedTuple

from ..ptx.text import flow, isa
from ..ptx.text.syntax import Entry, Immediate, Instruction, Register
from .dataflow import Registers, definitions, users
from .folding import Folding

LIMITS = {True: (8, 8, 7), False: (6, 5, 5)}  # by divergence: alone, then, else
COPYING = 16  # of a body with a copy
EXPANDED = {"div", "rem", "sqrt", "rcp", "rsqrt"}  # unless approximate
DIVERGENT = ("%tid", "%laneid", "%lanemask")


class Predicated(NamedTuple):
    """A branch that goes: its index, and those of the instructions that run under a predicate."""

    branch: int
    body: tuple[int, ...]


def predicated(entry: Entry, folding: Folding) -> list[Predicated]:
    """The branches of the entry that ptxas turns into predicates; see above."""
    blocks = flow.blocks(entry)
    after = _without_jumps(entry, blocks)
    before = flow.predecessors(after)
    divergent = _divergent(entry)
    cost = functools.partial(_cost, makers=definitions(entry), users=users(entry), fold=folding)
    result = []
    for n, block in enumerate(blocks):
        branch = entry.instructions[block.stop - 1]
        if branch.opcode != "bra" or branch.guard is None or len(after[n]) != 2:
            continue
        first, second = sorted(after[n])
        alone, then, other = LIMITS[branch.guard.name in divergent]
        last = entry.instructions[blocks[first].stop - 1]
        if after[first] == [second] and (last.opcode != "bra" or first + 1 == second):
            bodies = [(first, alone)]
        elif len(after[first]) == 1 and after[first] == after[second]:
            bodies = [(first, then), (second, other)]
        else:
            continue
        end = blocks[after[bodies[0][0]][0]].start
        if entry.instructions[end].opcode in ("ret", "exit"):
            continue
        inside = [[entry.instructions[k] for k in blocks[m]] for m, _ in bodies]
        if all(
            m > n
            and before[m] == [n]
            and _simple(body)
            and sum(map(cost, body)) <= (COPYING if any(map(is_copy, body)) else limit)
            for (m, limit), body in zip(bodies, inside)
        ):
            result.append(Predicated(branch.index, tuple(i.index for body in inside for i in body)))
    return result


def is_copy(i: Instruction) -> bool:
    """cp.async, of threads."""
    return i.opcode == "cp" and i.modifiers[0] == "async" and i.modifiers[1] in ("ca", "cg")


def _without_jumps(entry: Entry, blocks: list[range]) -> list[list[int]]:
    """What follows each block, blocks that only jump on being passed over."""
    after = flow.successors(entry, blocks)

    def end(n: int) -> int:
        seen = {n}
        while len(blocks[n]) == 1 and len(after[n]) == 1:
            if entry.instructions[blocks[n].start].opcode != "bra" or after[n][0] in seen:
                break
            n = after[n][0]
            seen.add(n)
        return n

    return [list(dict.fromkeys(map(end, ways))) for ways in after]


def _simple(body: list[Instruction]) -> bool:
    """Whether a predicate could go on each instruction; a last jump onwards falls away."""
    if body[-1].opcode == "bra":
        body = body[:-1]
    return all(
        i.guard is None
        and isa.lookup(i).kind in ("arithmetic", "move", "load", "store", "async copy")
        and not isa.lookup(i).ends
        and not (i.opcode in EXPANDED and not {"approx", "full"} & set(i.modifiers))
        for i in body
    )


def _divergent(entry: Entry) -> set[str]:
    """Registers in which the lanes of a warp may differ."""
    makers: list[str] = []
    for i in entry.instructions:
        row = isa.lookup(i)
        by_lane = any(name.startswith(DIVERGENT) for name in isa.read(i))
        if row.kind in ("atomic", "exchange") or by_lane:
            makers += isa.written(i)
    made = {name: [x for i in used for x in isa.written(i)] for name, used in users(entry).items()}
    return flow.reached(makers, defaultdict(list, made))


def _cost(i: Instruction, makers: Registers, users: Registers, fold: Folding) -> int:
    """About how many machine instructions one makes."""
    row = isa.lookup(i)
    if i.opcode == "bra":
        return 0  # a body's last jump
    if i.index in fold.removed or i.opcode == "cvta" or isa.space(i) in ("param", "const"):
        return 0  # constants are operands
    if i.index in fold.parts:
        return len(fold.parts[i.index])
    if row.memory:  # a copy that is told how much to read has an address made of it
        return 6 if is_copy(i) and isinstance(i.operands[-1], Register) else 1
    used = [user for name in isa.written(i) for user in users.get(name, ())]
    if i.opcode == "mov":
        source = i.operands[1]
        if isinstance(source, Immediate):  # an operand of arithmetic; 0 is a register
            free = source.value == 0 or all(isa.lookup(x).kind == "arithmetic" for x in used)
            return int(not free or any(len(makers[name]) > 1 for name in isa.written(i)))
        return int(isinstance(source, Register) and source.name.startswith((*DIVERGENT, "%ctaid")))
    if i.opcode == "cvt" and i.modifiers in (("u32", "u64"), ("s32", "s64")):
        return 0  # one of two registers
    joins = len(used) == 1 and used[0].opcode in ("add", "sub")
    if joins and (i.opcode in ("shl", "mul") or (i.opcode == "cvt" and "s64" in i.modifiers)):
        return 0  # one with the addition
    wide = i.modifiers[-1:] in (("s64",), ("u64",), ("b64",))
    if not (wide and i.opcode in ("add", "sub")):
        return 1
    sources = [makers[name][0] for name in isa.read(i) if name in makers]
    if any(source.opcode in ("mul", "mad") for source in sources):
        # one with the multiplication, but a parameter has to be brought to a register
        return 1 + any(made.opcode == "cvta" or isa.space(made) == "param" for made in sources)
    return 2
