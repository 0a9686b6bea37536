"""cp.async.bulk and cp.reduce.async.bulk: one thread copies, or combines, a stretch of bytes.

Into shared memory they report to an mbarrier, and have read their source when they are issued;
into global memory they belong to a bulk group of the thread (see `proxy`).
An H200 does nothing for a copy of 0 bytes, and of 24 bytes it copies a part without a word; here
both are errors because PTX asks for a positive multiple of 16.
PTX ISA, chapter 9.7.9.25.4 (bulk copies) and 9.7.9.25.3 (their groups).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..aliases import Array, Execute, Mask, Site, State
from ..memory import atomics
from ..memory.allocations import Space
from ..memory.events import Started, Stretches
from ..memory.remote_shared import (
    SHARED_WORDS,
    Places,
    in_rows,
    in_shared,
    named,
    require_together,
    spread,
    within,
)
from ..memory.swizzle import UNIT
from ..text.forms import DTYPES, bits, refuse
from ..text.syntax import Instruction
from .mbarrier_ops import number

INTO_SHARED, GROUPED = "mbarrier::complete_tx::bytes", "bulk_group"
HINT = "L2::cache_hint"  # one more operand, that says nothing about values
MULTICAST = "multicast::cluster"  # one more operand: which blocks of the cluster it goes to
COMMON = (
    "and.b32 or.b32 xor.b32 add.u32 add.s32 add.u64 min.u32 min.s32 max.u32 max.s32 inc.u32 dec.u32"
)
REDUCTIONS = {  # to where: operations and types
    "shared::cluster": set(COMMON.split()),
    "global": set(COMMON.split())
    | {"and.b64", "or.b64", "xor.b64", "add.f32", "add.f64", "add.noftz.f16", "add.noftz.bf16"}
    | {f"{name}.{kind}" for name in ("min", "max") for kind in ("u64", "s64", "f16", "bf16")},
}


def route(i: Instruction, start: int) -> tuple[str, str, str, list[str]]:
    """Where to, where from, how it reports, and the modifiers that are left. `start`: of the
    first of them."""
    words = [*i.modifiers[start:]]
    refuse(len(words) < 3, i)
    to, source, mechanism, *rest = words
    into_shared = to in ("shared::cluster", "shared::cta") and source == "global"
    across = to == "shared::cluster" and source == "shared::cta"
    out = to == "global" and source == "shared::cta"
    refuse(mechanism != (GROUPED if out else INTO_SHARED) or not (into_shared or across or out), i)
    rest = [word for word in rest if word != HINT]
    return to, source, mechanism, rest


def copy(i: Instruction, at: Site) -> Execute:
    """cp.async.bulk"""
    to, source, _, rest = route(i, 2)
    refuse(
        rest and (rest != [MULTICAST] or to != "shared::cluster" or source != "global"),
        ".".join(f".{word}" for word in rest),
    )
    return transfer(i, at, to, source, Cargo.deliver)


def reduce(i: Instruction, at: Site) -> Execute:
    """cp.reduce.async.bulk: combined element by element with what is at the destination."""
    to, source, _, rest = route(i, 3)
    refuse(source == "global" or ".".join(rest) not in REDUCTIONS.get(to, ()), i)
    name, kind = rest[0], rest[-1]
    operation = atomics.combined(name, kind, to)
    bits = "b16" if kind in atomics.HALVES else kind
    combine = lambda cargo, numbers: cargo.reduce(numbers, bits, operation)
    return transfer(i, at, to, source, combine)


def transfer(i: Instruction, at: Site, to: str, source: str, put: Any) -> Execute:
    """`put(cargo, numbers)` does what the copies with these numbers do to their destination."""
    copies_of = copies(i, at, to, source)

    def execute(state: State, mask: Mask) -> None:
        targets, sources, barriers, size, each = copies_of(state, mask)
        fine = in_bounds("load", source, sources, size)
        fine &= in_bounds("store", to, targets, size)
        if barriers is not None:
            if source != "global":
                require_cluster(targets)
            require_together(targets, barriers)
            shared = state.spaces["shared"]
            fine &= within("atomic", shared, barriers, 8, 8)
            barriers = barriers[fine]
        targets, sources, size, each = targets[fine], sources[fine], size[fine], each[fine]
        ticket = state.tickets(len(size))
        start(i, state, ticket, (source, sources), (to, targets), size, each)
        home, target = space_of(state, source), space_of(state, to)
        cargo = Cargo(home, first(home, sources), target, first(target, targets), size)
        if barriers is not None:
            cargo.fetch()
            state.flights.add(barriers, lambda numbers: put(cargo, numbers), size, ticket)
            return
        write = lambda numbers: put(cargo, numbers)
        state.flights.add_to_group(targets, cargo.fetch, write, ticket)

    return execute


def copies(i: Instruction, at: Site, to: str, source: str) -> Callable[..., Any]:
    """A function (state, mask) -> what threads ask for: destinations, sources, mbarriers or None,
    bytes, and which thread's copy each is. One may go to several blocks of the cluster."""
    slots = at.slots
    to_address, from_address = (slots.address(operand) for operand in i.operands[:2])
    size_of = number(i.operands[2], at)
    barrier_address = None if to == "global" else slots.address(i.operands[3])
    ranks_of = slots.reader(i.operands[4], np.uint16) if MULTICAST in i.modifiers else None
    extra = (HINT in i.modifiers) + (MULTICAST in i.modifiers)
    refuse(len(i.operands) != 3 + (to != "global") + extra, "so many operands")

    def find_all(state: State, mask: Mask) -> Any:
        registers = state.registers
        targets = find(i, state, to, to_address(registers), mask)
        sources = find(i, state, source, from_address(registers), mask)
        size = size_of(targets)
        check_sizes(targets, size)
        if barrier_address is None:
            return targets, sources, None, size, np.arange(len(size))
        barriers = in_shared(i, state, to, barrier_address(registers), mask)
        if ranks_of is None:
            return targets, sources, barriers, size, np.arange(len(size))
        ranks = targets.values(ranks_of(registers))
        each, rows = spread(targets, ranks.astype(np.int64))
        targets, barriers = in_rows(targets, each, rows), in_rows(barriers, each, rows)
        return targets, sources[each], barriers, size[each], each

    return find_all


def space_of(state: State, name: str) -> Any:
    """The state's space of that name; all names of shared memory are of one."""
    return state.spaces["shared" if name in SHARED_WORDS else name]


def first(space: Space, at: Places) -> Array:
    """The places' first bytes in the data of their space."""
    return at.address + space.row[at.row, 0]


def find(i: Instruction, state: State, space: str, address: Array, mask: Mask) -> Places:
    """The places that the addresses of the threads of the mask name in a space."""
    if space in SHARED_WORDS:
        return in_shared(i, state, space, address, mask)
    places = named(i, state, address, mask)
    return replace(places, row=np.zeros_like(places.row))


def check_sizes(at: Places, size: Array) -> None:
    """Raise a PTXError for a copy of other than a positive multiple of 16 bytes."""
    say = lambda n: f"a bulk copy of {size[n]} bytes, which is not a positive multiple of {UNIT}"
    at.require((size % UNIT == 0) & (size != 0), say)


def require_cluster(targets: Places) -> None:
    """An H200 stops with "illegal instruction" at a copy from shared memory to shared memory in
    a launch without clusters. In a cluster, even of one block, it may go to the thread's own."""
    say = lambda n: (
        "a bulk copy from shared::cta to shared::cluster in a launch without clusters, where "
        "a GPU stops: let the threads copy, or give the kernel __cluster_dims__"
    )
    targets.require(np.full(len(targets), targets.state.launch.cluster.explicit), say)


def in_bounds(kind: str, space: str, at: Places, size: Array) -> Array:
    """bool (N,): as `within`, for stretches of several sizes."""
    home, fine = space_of(at.state, space), np.ones(len(at), bool)
    for n in np.unique(size):
        same = np.flatnonzero(size == n)
        fine[same] = within(kind, home, at[same], int(n), UNIT)
    if kind == "store" and home.read_only:
        home.check_writeable(at.address, fine, at.i, at.thread_name)
    return fine


def start(
    i: Instruction, state: State, ticket: Array, source: Any, target: Any, size: Array, each: Any
) -> None:
    """Tell the sink what has been issued. source, target: a space and the places in it. each:
    which instruction's copy it is. One that goes to several blocks is an operation for each of
    them; it reads once, as the first."""
    if state.sink is None or not len(size):
        return
    every, leads = np.arange(len(size)), np.flatnonzero(np.diff(each, prepend=-1))
    reads, writes = (
        (stretches(space, n, at[n], size[n]),)
        for n, (space, at) in ((leads, source), (every, target))
    )
    issuer = source[1].block, source[1].thread
    state.tell(Started, i, ticket, *issuer, reads, writes)


def stretches(space: str, operation: Any, at: Places, size: Array) -> Stretches:
    """The bytes that copies reach in a space, for the sink."""
    return Stretches(
        "shared" if space in SHARED_WORDS else space, operation, at.row, at.address, size
    )


def commit_group(i: Instruction, at: Site) -> Execute:
    """cp.async.bulk.commit_group: what each thread has issued becomes a group."""
    return lambda state, mask: state.flights.bulk.commit(state.full(mask))


def wait_group(i: Instruction, at: Site) -> Execute:
    """cp.async.bulk.wait_group{.read} N"""
    refuse(set(i.modifiers[3:]) - {"read"}, i)
    pending, reading = int(i.operands[0].value), "read" in i.modifiers
    return lambda state, mask: state.flights.wait(i, state, state.full(mask), pending, reading)


# -- the bytes themselves, in units of 16 ------------------------------------------------------


def units_of(start: Array, size: Array) -> tuple[Array, Array]:
    """The units of N stretches of bytes, by number, and which stretch each belongs to."""
    count = size // UNIT
    of = np.repeat(np.arange(len(size)), count)
    first = start // UNIT - (np.cumsum(count) - count)
    return first[of] + np.arange(of.size), of


def units_in(space: Space) -> Array:
    """The units of a space, (units, 2) of uint64."""
    return space.data.view(np.uint64).reshape(-1, 2)


class Cargo:
    """N stretches from one space on their way to another. `start` and `to`: their first bytes in
    the data of the spaces; rows have been added."""

    def __init__(
        self,
        source: Space,
        start: Array,
        target: Space,
        to: Array,
        size: Array,
    ) -> None:
        self.source, self.target, self.count = source, target, len(size)
        self.taken, self.of = units_of(start, size)
        self.given = units_of(to, size)[0]
        self.held = np.empty((self.of.size, 2), np.uint64)

    def _units(self, numbers: Array | None) -> Any:
        if numbers is None or len(numbers) == self.count:
            return slice(None)
        wanted = np.zeros(self.count, bool)
        wanted[numbers] = True
        return wanted[self.of]

    def fetch(self, numbers: Array | None = None) -> None:
        """Read the stretches with these numbers; all of them without."""
        units = self._units(numbers)
        self.held[units] = units_in(self.source)[self.taken[units]]

    def deliver(self, numbers: Array | None = None) -> None:
        units = self._units(numbers)
        units_in(self.target)[self.given[units]] = self.held[units]

    def reduce(self, numbers: Array | None, kind: str, operation: Callable[..., Any]) -> None:
        """Instead of delivering them: combine each element with the one that is there."""
        units, size = self._units(numbers), bits(kind) // 8
        dtype = DTYPES[kind]
        there = self.target.views[size].view(dtype)
        each = UNIT // size
        index = (self.given[units][:, None] * each + np.arange(each)).reshape(-1)
        atomics.take_turns(there, index, [self.held[units].reshape(-1).view(dtype)], operation)


BULK = {
    "cp.async.bulk": copy,
    "cp.async.bulk.commit_group": commit_group,
    "cp.async.bulk.wait_group": wait_group,
    "cp.reduce.async.bulk": reduce,
}
