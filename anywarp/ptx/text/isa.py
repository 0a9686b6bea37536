"""What an opcode is: the one table of facts about instructions.

A key is an opcode, or an opcode with its first modifiers: the longest key that an instruction's
text begins with counts, so `cp.async.bulk.tensor.2d…` is what `cp.async.bulk.tensor` says and
not what `cp.async` does. What is in no row is never taken for dead, and may touch any memory.

Source: "Parallel Thread Execution ISA", chapters 9.7 (instructions) and 5 (state spaces).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container
from typing import Any, NamedTuple

from ..aliases import Elementwise, Operand
from .syntax import Address, Immediate, Instruction, Register, Vector, leaves

SPACES = ("global", "shared", "local", "const", "param")
STRONG = {"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"}  # done as written
CARRY = "%cc"  # stands for the carry flag among registers; PTX has no name for it
CARRIED = {"addc", "subc", "madc"}  # these read it; what has a .cc writes it
CHOOSES = ("selp", "and.pred", "or.pred", "and.b32")  # see `chooses`


class Row(NamedTuple):
    """What an opcode is.

    kind: "arithmetic" (of integers or floats, as its type says), "move", "load", "store",
    "atomic", "async copy", "texture", "control", "exchange" (between lanes), "matrix", "hint" or
    "other".
    writes: how many operands, from the first, name registers that it writes.
    stays: runs even if nobody uses what it writes.
    ends: a basic block, as "jump" (goes elsewhere), "leave" (goes nowhere), "call" (comes back)
    or "wait" (for other threads; goes on with what follows). "" for all others.
    memory: "load", "store", "atomic" (both), "copy" (from the second operand's space to the
    first's, later), "fence" (orders the accesses before and after it) or "".
    space: where, if the modifiers do not say.
    """

    kind: str
    writes: int = 1
    stays: bool = False
    ends: str = ""
    memory: str = ""
    space: str = "generic"


def _rows(keys: str, row: Row) -> dict[str, Row]:
    """The same row for all of these keys."""
    return dict.fromkeys(keys.split(), row)


ARITHMETIC = Row("arithmetic")
MOVE = Row("move")
JUMP = Row("control", 0, True, "jump")
LEAVE = Row("control", 0, True, "leave")
BARRIER = Row("control", 0, True, "wait", "fence")
EXCHANGE = Row("exchange", 1, True, "wait")
LOAD = Row("load", memory="load")
STORE = Row("store", 0, True, memory="store")
ATOMIC = Row("atomic", 1, True, memory="atomic")
REDUCTION = Row("atomic", 0, True, memory="atomic")
COPY = Row("async copy", 0, True, memory="copy")
FENCE = Row("other", 0, True, memory="fence")
GROUP = Row("control", 0, True, memory="fence")  # commits or awaits what runs on its own
TEXTURE = Row("texture", memory="load", space="global")  # and surface
HINT = Row("hint", 0, True)
UNKNOWN = Row("other", 1, True, memory="fence")

TABLE: dict[str, Row] = {
    **_rows(
        "add addc sub subc mul mad madc mul24 mad24 fma div rem abs neg min max sad sqrt rcp "
        "rsqrt ex2 lg2 sin cos tanh copysign and or xor not shl shr shf lop3 prmt bfe bfi bfind "
        "bmsk fns popc clz brev dp2a dp4a set setp selp cvt cvta "
        "vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 vset2 "
        "vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4 vset4 "
        "vadd vsub vabsdiff vmin vmax vshl vshr vset",
        ARITHMETIC,
    ),
    **_rows("mov isspacep mapa getctarank activemask createpolicy", MOVE),
    # control flow
    **_rows("bra brx", JUMP),
    **_rows("ret exit trap", LEAVE),
    "call": Row("control", 1, True, "call", "fence"),
    **_rows("brkpt pmevent nanosleep setmaxnreg griddepcontrol", Row("control", 0, True)),
    # threads that wait for each other
    **_rows("bar barrier bar.warp barrier.cta barrier.cluster", BARRIER),
    **_rows("bar.red bar.cta.red barrier.red barrier.cta.red", BARRIER._replace(writes=1)),
    **_rows("shfl vote match redux elect", EXCHANGE),
    # memory
    **_rows("ld ldu", LOAD),
    "ld.param": Row("move", memory="load"),
    "st": STORE,
    "st.param": Row("move", 0, True, memory="store"),
    **_rows("st.async red.async", STORE._replace(space="shared")),
    "atom": ATOMIC,
    "red": REDUCTION,
    **_rows("prefetch prefetchu cp.async.bulk.prefetch applypriority discard", HINT),
    **_rows("tex tld4", TEXTURE),
    "suld": TEXTURE,
    "sust": TEXTURE._replace(writes=0, stays=True, memory="store"),
    # copies that land later, and what waits for them
    **_rows("cp.async cp.async.bulk cp.async.bulk.tensor", COPY),
    **_rows("cp.reduce.async.bulk cp.reduce.async.bulk.tensor", COPY),
    **_rows(
        "cp.async.commit_group cp.async.wait_group cp.async.wait_all cp.async.mbarrier "
        "cp.async.bulk.commit_group cp.async.bulk.wait_group",
        GROUP,
    ),
    **_rows("membar fence fence.proxy fence.mbarrier_init tensormap.cp_fenceproxy", FENCE),
    "tensormap.replace": STORE,
    # barriers in memory
    **_rows("mbarrier.init mbarrier.inval mbarrier.expect_tx mbarrier.complete_tx", FENCE),
    **_rows(
        "mbarrier.arrive mbarrier.arrive_drop mbarrier.test_wait mbarrier.try_wait",
        Row("control", 1, True, memory="fence"),
    ),
    "mbarrier.pending_count": MOVE,
    # matrices, by a warp or a group of warps
    "ldmatrix": Row("load", 1, True, "wait", "load"),
    "stmatrix": Row("store", 0, True, "wait", "store"),
    "movmatrix": EXCHANGE,
    **_rows("mma wmma.mma", Row("matrix", 1, True, "wait")),
    "wmma.load": Row("load", 1, True, "wait", "load"),
    "wmma.store": Row("store", 0, True, "wait", "store"),
    "wgmma.mma_async": Row("matrix", 1, True, "wait", "load", "shared"),
    **_rows("wgmma.fence wgmma.commit_group wgmma.wait_group", GROUP),
}  # fmt: skip


def known(function: Elementwise) -> Callable[..., Any]:
    """A function of an instruction, which keeps the answer: many ask the same of each."""
    key = function.__name__

    @functools.wraps(function)
    def ask(i: Instruction) -> Any:
        answers = vars(i)
        if key not in answers:
            answers[key] = function(i)
        return answers[key]

    return ask


@known
def lookup(i: Instruction) -> Row:
    """The row of an instruction; `UNKNOWN` if it has none."""
    return TABLE.get(name(i), UNKNOWN)


def name(i: Instruction) -> str:
    """The longest key of the table that the instruction begins with; "" if there is none."""
    return _name(i.opcode, i.modifiers)


@functools.cache
def _name(opcode: str, modifiers: tuple[str, ...]) -> str:
    """The same by opcode and modifiers: many instructions share them."""
    return longest(TABLE, opcode, modifiers)


def longest(table: Container[str], opcode: str, modifiers: tuple[str, ...]) -> str:
    """The same of any table."""
    keys = (".".join((opcode, *modifiers[:n])) for n in range(len(modifiers), -1, -1))
    return next((key for key in keys if key in table), "")


@known
def written(i: Instruction) -> tuple[str, ...]:
    """The registers that the instruction writes, by name; those of an address are read."""
    row, names = lookup(i), []
    if row.ends != "call" or isinstance(i.operands[0], Vector):  # else: the function's name
        for operand in i.operands[: row.writes]:
            if not isinstance(operand, Address):
                names += registers_in(operand)
    return (*names, CARRY) if "cc" in i.modifiers else tuple(names)


@known
def read(i: Instruction) -> tuple[str, ...]:
    """The registers that the instruction reads, its guard first; without the `!` of a negated
    predicate. Addresses, and what is added to in place by wgmma, count."""
    row = lookup(i)
    names = [i.guard.name] if i.guard else []
    for n, operand in enumerate(i.operands):
        in_place = row.kind == "matrix" and len(row.memory) > 0
        call = row.ends == "call" and not isinstance(operand, Vector)
        if n >= row.writes or isinstance(operand, Address) or in_place or call:
            names += registers_in(operand)
    return (*names, CARRY) if i.opcode in CARRIED else tuple(names)


def registers_in(operand: Operand) -> list[str]:
    """The names of the registers in an operand."""
    return [x.name.lstrip("!") for x in leaves(operand) if isinstance(x, Register)]


def spaces(i: Instruction) -> tuple[str, ...]:
    """The state spaces that the instruction may reach: as its modifiers name them, in order (a
    copy names where to, then where from); ("generic",) if they leave it open; () if none."""
    row = lookup(i)
    if not row.memory:
        return ()
    named = tuple(word for m in i.modifiers if (word := m.split("::")[0]) in SPACES)
    return named or (row.space,)


def space(i: Instruction) -> str:
    """The first of `spaces`, or ""."""
    return next(iter(spaces(i)), "")


def chooses(i: Instruction) -> bool:
    """Whether its result may not depend on all of its sources, as that of `and` with what is 0."""
    known = any(isinstance(operand, Immediate) for operand in i.operands)
    each = longest(CHOOSES, i.opcode, i.modifiers)
    return bool(each) and not (each == "and.b32" and known)


def kept(i: Instruction) -> bool:
    """Whether it runs though nobody uses its results."""
    return lookup(i).stays or not STRONG.isdisjoint(i.modifiers)
