"""cp.async.bulk and cp.reduce.async.bulk: one thread copies, or combines, a stretch of bytes.

Into shared memory they report to an mbarrier, and have read their source when they are issued;
into global memory they belong to a bulk group of the thread (see `proxy`). What they have in common
with copies of tensors (see `tensor_copies`) and with st.async (see `remote`) stands here, too.
An H200 does nothing for a copy of 0 bytes, and of 24 bytes it copies a part without a word; here
both are errors because PTX asks for a positive multiple of 16.
PTX ISA, chapter 9.7.9.25.4 (bulk copies) and 9.7.9.25.3 (their groups).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..aliases import Array, Execute, Mask, Operand, Site, State
from ..memory import atomics
from ..memory.allocations import Space
from ..memory.events import Started, Stretches
from ..memory.remote_shared import Places, in_space, within
from ..memory.swizzle import UNIT
from ..text.forms import refuse
from ..text.syntax import Instruction
from .mbarrier_ops import number

INTO_SHARED, GROUPED = "mbarrier::complete_tx::bytes", "bulk_group"
HINT = "L2::cache_hint"  # one more operand, that says nothing about values
MULTICAST = "multicast::cluster"  # one more operand: which blocks of the cluster it goes to
COMMON = {f"{name}.b32" for name in ("and", "or", "xor")} | {"add.u64", "inc.u32", "dec.u32"}
COMMON |= {f"{name}.{kind}" for name in ("add", "min", "max") for kind in ("u32", "s32")}
REDUCTIONS = {  # to where: operations and types
    "shared::cluster": COMMON,
    "global": COMMON
    | {"and.b64", "or.b64", "xor.b64", "add.f32", "add.f64", "add.noftz.f16", "add.noftz.bf16"}
    | {f"{name}.{kind}" for name in ("min", "max") for kind in ("u64", "s64", "f16", "bf16")},
}
# (which, operations): the bytes that these threads or copies reach, as those operations
Told = Callable[[Array, Array], Stretches]
WHOLE_UNITS = np.dtype((np.void, UNIT)), None  # of a copy that combines nothing


# -- what an instruction names ----------------------------------------------------------------


def route(i: Instruction, words: Sequence[str]) -> tuple[str, str, list[str]]:
    """Where to, where from, and what is left of these modifiers, which begin with the two."""
    words = [word for word in words if word != HINT]
    refuse(len(words) < 3, i)
    to, source, mechanism, *rest = words
    into_shared = to in ("shared::cluster", "shared::cta") and source == "global"
    across = to == "shared::cluster" and source == "shared::cta"
    out = to == "global" and source == "shared::cta"
    refuse(mechanism != (GROUPED if out else INTO_SHARED) or not (into_shared or across or out), i)
    several = MULTICAST in rest
    refuse(several and (to != "shared::cluster" or source != "global"), f".{MULTICAST}")
    return to, source, rest


def operands_of(i: Instruction, count: int) -> list[Any]:
    """The operands without that of the cache hint; there must be so many, or one more of a copy to
    several blocks."""
    operands = list(i.operands[:-1] if HINT in i.modifiers else i.operands)
    refuse(len(operands) != count + (MULTICAST in i.modifiers), "so many operands")
    return operands


def receivers(
    i: Instruction, at: Site, to: str, target: Operand, barrier: Operand, ranks: Sequence[Operand]
) -> Callable[..., Any]:
    """A function (state, mask) -> the places and mbarriers in shared memory that threads name,
    and, if it goes to several blocks, the masks of their ranks, else None."""
    target_of, barrier_of = at.slots.address(target), at.slots.address(barrier)
    ranks_of = [at.slots.reader(each, np.uint16) for each in ranks]

    def find(state: State, mask: Mask) -> tuple[Places, Places, Array | None]:
        registers = state.registers
        targets = in_space(i, state, to, target_of(registers), mask)
        barriers = in_space(i, state, to, barrier_of(registers), mask)
        masks = [targets.values(read(registers)).astype(np.int64) for read in ranks_of]
        return targets, barriers, masks[0] if masks else None

    return find


def received(
    targets: Places, barriers: Places, ranks: Array | None, size: int, align: int
) -> tuple[Array, Places, Places]:
    """Of the copies of so many bytes that may be made: which thread's each is, where it goes to
    and the mbarrier that it reports to. One of several blocks (`ranks`) is a copy for each, whose
    places are those at the same offsets there."""
    i, state, which = targets.i, targets.state, np.arange(len(targets))
    if ranks is not None:
        blocks = state.launch.cluster.size
        named = ranks[:, None] >> np.arange(16) & 1
        say = lambda n: (
            f"a copy to the blocks of the mask {int(ranks[n]):#06b}: the cluster has {blocks}"
        )
        targets.require(named.any(1) & ~named[:, blocks:].any(1), say)
        which, rank = np.nonzero(named)
        row = targets.block[which] // blocks * blocks + rank
        targets, barriers = (replace(places[which], row=row) for places in (targets, barriers))
    apart = lambda n: (
        f"{i.opcode} writes into the shared memory of {state.describe_block(targets.row[n])} and "
        f"reports to an mbarrier of {state.describe_block(barriers.row[n])}: both must be in the "
        "same"
    )
    targets.require(targets.row == barriers.row, apart)
    shared = state.spaces["shared"]
    fine = within("store", shared, targets, size, align) & within("atomic", shared, barriers, 8, 8)
    return which[fine], targets[fine], barriers[fine]


# -- copies under way -------------------------------------------------------------------------


@dataclass
class Cargo:
    """What copies bring from one array of memory to another, of as many elements each.

    held: (N, …), what N threads have read. which: for each copy, whose of them it brings. taken,
    given: functions of numbers of copies -> where their elements lie in the arrays. stored: which
    elements are written, None for all. combine: as in `atomics.combined`."""

    source: Array
    target: Array
    held: Array
    which: Array
    given: Callable[[Array], Array]
    taken: Callable[[Array], Array] | None = None
    stored: Array | None = None
    combine: Any = None

    def read(self, numbers: Array) -> None:
        assert self.taken is not None
        self.held[numbers] = self.source[self.taken(numbers)]

    def write(self, numbers: Array) -> None:
        given, new = self.given(numbers), self.held[self.which[numbers]]
        if self.stored is not None:
            given, new = given[self.stored[numbers]], new[self.stored[numbers]]
        if self.combine is None:
            self.target[given] = new
        else:
            atomics.take_turns(self.target, given.reshape(-1), [new.reshape(-1)], self.combine)


def begin(
    cargo: Cargo, by: Places, report: Places | None, size: int, reads: Told | None, writes: Told
) -> None:
    """Copies are under way, of so many bytes each, which threads issue (`by`): they report to
    mbarriers, or belong to bulk groups of the threads. The sink is told of them, of which one that
    goes to several blocks is an operation for each; it reads once, as the first."""
    state, count = by.state, len(by)
    if not count:
        return
    ticket, every = state.tickets(count), np.arange(count)
    if state.sink is not None:
        read = (reads(*np.unique(cargo.which, return_index=True)),) if reads else ()
        about = ticket, by.block, by.thread
        state.tell(Started, by.i, *about, read, (writes(every, every),))
    if report is None:
        state.flights.add_to_group(by, cargo.read, cargo.write, ticket)
    else:
        state.flights.add(report, cargo.write, np.full(count, size), ticket)


def elements(space: Space, at: Places, width: int, count: int) -> Callable[[Array], Array]:
    """A function of numbers -> where `count` elements of so many bytes lie from each place on, in
    the data of the space."""
    start = (at.address + space.row[at.row, 0]) // width
    return lambda numbers: start[numbers][:, None] + np.arange(count)


def stretches(space: str, at: Places, size: int, which: Array, operation: Array) -> Stretches:
    """So many bytes from each of these places on, for the sink."""
    at = at[which]
    return Stretches(space, operation, at.row, at.address, np.full(len(at), size))


# -- copies of bytes in a row -----------------------------------------------------------------


def copy(i: Instruction, at: Site) -> Execute:
    """cp.async.bulk"""
    to, source, rest = route(i, i.modifiers[2:])
    refuse(rest not in ([], [MULTICAST]), i)
    return transfer(i, at, to, source, *WHOLE_UNITS)


def reduce(i: Instruction, at: Site) -> Execute:
    """cp.reduce.async.bulk: combined element by element with what is at the destination."""
    to, source, rest = route(i, i.modifiers[3:])
    refuse(source == "global" or ".".join(rest) not in REDUCTIONS.get(to, ()), i)
    return transfer(i, at, to, source, *atomics.combined(rest[0], rest[-1], to))


def transfer(i: Instruction, at: Site, to: str, source: str, dtype: Any, combine: Any) -> Execute:
    """Copies of elements of this type, which are combined with those at the destination if
    `combine` says how."""
    out = to == "global"
    target, origin, length, *more = operands_of(i, 3 if out else 4)
    target_of, source_of = at.slots.address(target), at.slots.address(origin)
    find = None if out else receivers(i, at, to, target, more[0], more[1:])
    size_of, width = number(length, at), np.dtype(dtype).itemsize

    def execute(state: State, mask: Mask) -> None:
        every = in_space(i, state, source, source_of(state.registers), mask)
        if find:
            targets, barriers, ranks = find(state, mask)
        else:
            targets = in_space(i, state, to, target_of(state.registers), mask)
        home = state.spaces["global" if source == "global" else "shared"]
        goal = state.spaces["global" if out else "shared"]
        sizes = size_of(every)
        check_sizes(every, sizes)
        for size in np.unique(sizes).tolist():
            these = np.flatnonzero(sizes == size)
            these = these[within("load", home, every[these], size, UNIT)]
            sources, into, reports = every[these], targets[these], None
            if find:
                require_cluster(into, source)
                named = None if ranks is None else ranks[these]
                which, into, reports = received(into, barriers[these], named, size, UNIT)
            else:
                fine = within("store", goal, into, size, UNIT)
                goal.check_writeable(into.address, fine, i, into.thread_name)
                sources, into, which = sources[fine], into[fine], np.arange(fine.sum())
            count = size // width
            held = np.empty((len(sources), count), dtype)
            given = elements(goal, into, width, count)
            taken = elements(home, sources, width, count)
            views = home.data.view(dtype), goal.data.view(dtype)
            cargo = Cargo(*views, held, which, given, taken, combine=combine)
            if find:
                cargo.read(np.arange(len(sources)))
            reads = functools.partial(stretches, home.name, sources, size)
            writes = functools.partial(stretches, goal.name, into, size)
            begin(cargo, into, reports, size, reads, writes)

    return execute


def check_sizes(at: Places, size: Array) -> None:
    """Raise a PTXError for a copy of other than a positive multiple of 16 bytes."""
    say = lambda n: f"a bulk copy of {size[n]} bytes, which is not a positive multiple of {UNIT}"
    at.require((size % UNIT == 0) & (size != 0), say)


def require_cluster(targets: Places, source: str) -> None:
    """An H200 stops with "illegal instruction" at a copy from shared memory to shared memory in
    a launch without clusters. In a cluster, even of one block, it may go to the thread's own."""
    say = lambda n: (
        "a bulk copy from shared::cta to shared::cluster in a launch without clusters, where "
        "a GPU stops: let the threads copy, or give the kernel __cluster_dims__"
    )
    allowed = source == "global" or targets.state.launch.cluster.explicit
    targets.require(np.full(len(targets), allowed), say)


def commit_group(i: Instruction, at: Site) -> Execute:
    """cp.async.bulk.commit_group: what each thread has issued becomes a group."""
    return lambda state, mask: state.flights.bulk.commit(state.full(mask))


def wait_group(i: Instruction, at: Site) -> Execute:
    """cp.async.bulk.wait_group{.read} N"""
    refuse(set(i.modifiers[3:]) - {"read"}, i)
    pending, reading = int(i.operands[0].value), "read" in i.modifiers
    return lambda state, mask: state.flights.wait(i, state, state.full(mask), pending, reading)


BULK = {"cp.async.bulk": copy, "cp.reduce.async.bulk": reduce}
BULK |= {"cp.async.bulk.commit_group": commit_group, "cp.async.bulk.wait_group": wait_group}
