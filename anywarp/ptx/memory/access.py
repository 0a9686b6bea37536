"""Instructions that touch memory: ld, st, atom and red.

A decoder takes an instruction and its site and returns `execute(state, mask)`.
PTX ISA, chapters 9.7.9 (data movement) and 9.7.13 (atomics).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..aliases import Array, Execute, Mask, Operand, Site, Slots, State
from ..text import isa
from ..text.forms import DTYPES, Unsupported, bits, elements, refuse
from ..text.syntax import Instruction, Register, Symbol
from . import allocations, atomics, clusters
from .events import Access, Fault
from .patterns import recurring

STRONG = {"volatile", "relaxed", "acquire", "mmio"}  # loads that may wait for another thread
# hints that change nothing about the value: caches, ordering between correct programs' threads
HINTS = set("nc ca cg cs cv lu wb wt weak cta gpu sys cluster noftz unified".split())
HINTS |= STRONG | {"release", "acq_rel"}


def split_modifiers(i: Instruction, words: set[str]) -> tuple[str, str, int, set[str]]:
    """`.shared.v4.f32` -> (space or "generic", type, vector length, other known words)."""
    space, lanes, kind, others = "generic", 1, "", set()
    for word in i.modifiers:
        name = word.split("::")[0]
        if word in ("shared::cta", "param::entry") or word in isa.SPACES:
            space = name
        elif word == "shared::cluster":
            space = word
        elif word in ("v2", "v4", "v8"):
            lanes = int(word[1])
        elif word in DTYPES and word != "pred":
            kind = word
        elif word in words:
            others.add(word)
        elif word not in HINTS and name not in ("L1", "L2"):
            raise Unsupported(f".{word}")
    refuse(not kind, i)
    return space, kind, lanes, others


def param_space(space: str, operand: Operand, at: Site) -> str:
    """Parameters of a kernel lie in one place, those of calls with the threads."""
    if space != "param":
        return space
    named = isinstance(operand.base, Symbol) and operand.base.name
    of_call = named and all(p.name != named for p in at.function.params)
    return "arguments" if of_call or at.function.name in at.linked.callees else "param"


Part = tuple[allocations.Space, Array, Mask]  # an address in it, and who reaches it


def spaces_of(space: str, address: Array, mask: Mask, state: State) -> Iterator[Part]:
    """Yield (space, address in it, mask or None). A generic address says by its window where
    it is, and one of a cluster's shared memory by its rank."""
    if space == "shared::cluster":
        yield *clusters.reached(state, address, mask), mask
        return
    if space == "shared":
        address = clusters.unnamed(state, address, clusters.rows(state))
    if space != "generic":
        yield state.spaces[space], address, mask
        return
    window = allocations.window_of(address)
    for name, number, start in allocations.WINDOWS:
        inside = window == number
        if not inside.any():
            continue
        part = mask
        if not inside.all():
            part = np.broadcast_to(inside, state.shape)
            part = part if mask is None else part & mask
            if not part.any():
                continue
        if name == "shared":
            yield *clusters.reached(state, address - start, part), part
        else:
            yield state.spaces[name], address - start, part


def reach(
    i: Instruction, state: State, kind: str, at: Part, width: int, align: int = 0, values: Any = ()
) -> Any:
    """Check an access (aligned to its width unless told otherwise) and tell the sink of it.

    Returns the mask of the threads that may go on with it: all, unless the run is tolerant."""
    (space, address, mask), align = at, align or width
    wrong = space.check(address, mask, width, align, kind == "load")
    gone = clusters.exited(state, space, mask)
    if wrong is not None or gone is not None:
        if not state.tolerant:
            if gone is not None and space.owner is not None:
                b, t = np.argwhere(gone)[0].tolist()
                raise clusters.left(i, state, space.owner[b, t], state.describe_thread(b, t))
            whose = clusters.whose(state, space, wrong)
            raise space.fault(address, wrong, width, align, i, state.describe_thread, whose)
        wrong = state.full(np.False_ if wrong is None else wrong)
        wrong = wrong if gone is None else wrong | gone
        where = space.name, width, align, address, wrong, space.owner, gone
        state.tell(Fault, i, kind, *where)
        mask = state.full(mask) & ~wrong
    if kind != "load" and space.read_only:
        space.check_writeable(address, mask, i, state.describe_thread)
    if state.sink is not None:
        full = None if mask is None else state.full(mask)
        state.tell(Access, i, kind, space.name, width, address, full, values or None, space.owner)
    return mask


def write(
    i: Instruction, state: State, at: Part, values: Sequence[Array], size: int, align: int = 0
) -> None:
    """`reach`, and store the values, elements of `size` bytes; a careful run only what changes
    something."""
    home, address, _ = at
    mask = reach(i, state, "store", at, size * len(values), align, values)
    if not state.careful or home.would_change(address, mask, values, size):
        state.changed = True
        home.store(address, mask, values, size)


def shared_windows(operand: Operand, slots: Slots, size: int, lanes: int) -> Callable[..., Any]:
    """A function state -> what all threads reach in shared memory from an address that starts in
    a register, a view for each lane; None where `recurring` or `Space.windows` do not know."""
    pattern_of = recurring(slots.register(operand.base.name)[0], slots.address(operand.base))
    which = operand.offset, size, lanes

    def find(state: State) -> Any:
        pattern = pattern_of(state)
        if pattern is not None and which not in pattern.windows:
            pattern.windows[which] = state.spaces["shared"].windows(pattern, *which)
        return None if pattern is None else pattern.windows[which]

    return find


def awaited(
    state: State, space: str, address: Array, mask: Mask, size: int
) -> Callable[[int], str]:
    """What threads that look at these addresses again and again wait for, in words."""

    def say(count: int) -> str:
        home, whole, part = next(spaces_of(space, address, mask, state))
        b, t = np.argwhere(state.full(part))[0].tolist()
        at = int(np.broadcast_to(whole, state.shape)[b, t])
        who = f"{count} threads wait" if count > 1 else "a thread waits"
        if home.name == "global" and state.launch.workspace == at & -8 != 0:
            return f"{who} at grid.sync() for blocks that never come there"
        holds = int(home.load(np.array([[at]]), None, size, 1)[0].flat[0])
        place = home.describe(at).partition(", ")[2]  # its address says nothing
        return f"{who} for a change of memory that nobody is left to make, {place} being {holds}"

    return say


def load(i: Instruction, at: Site) -> Execute:
    """ld and ldu, from all spaces, scalars and vectors."""
    slots = at.slots
    space, kind, lanes, _ = split_modifiers(i, set())
    space = param_space(space, i.operands[1], at)
    polls = STRONG & set(i.modifiers)
    size = bits(kind) // 8
    dtype = DTYPES[kind]
    address_of = slots.address(i.operands[1])
    writers = slots.writers(i.operands[0], lanes, dtype)
    plain = space == "shared" and not polls and isinstance(i.operands[1].base, Register)
    windows_of = shared_windows(i.operands[1], slots, size, lanes) if plain else None

    def execute(state: State, mask: Mask) -> None:
        if windows_of and mask is None and state.sink is None:
            views = windows_of(state)
            if views is not None:
                for write, value in zip(writers, views):
                    value = value.copy().reshape(len(value), -1)
                    write(state.registers, value.view(dtype), None)
                return
        whole = address_of(state.registers)
        if polls:
            state.poll(at.following, i, mask, awaited(state, space, whole, mask, size))
        for home, address, part in spaces_of(space, whole, mask, state):
            part = reach(i, state, "load", (home, address, part), size * lanes)
            # what the others find is not written to their registers
            for write, value in zip(writers, home.load(address, None, size, lanes)):
                write(state.registers, value.view(dtype), part)

    return execute


def store(i: Instruction, at: Site) -> Execute:
    """st, to all spaces, scalars and vectors."""
    slots = at.slots
    space, kind, lanes, _ = split_modifiers(i, set())
    size = bits(kind) // 8
    space = param_space(space, i.operands[0], at)
    unsigned = allocations.UNSIGNED[size]
    address_of = slots.address(i.operands[0])
    readers = slots.readers(i.operands[1], lanes, DTYPES[kind])

    def execute(state: State, mask: Mask) -> None:
        values = [read(state.registers).view(unsigned) for read in readers]
        whole = address_of(state.registers)
        for part in spaces_of(space, whole, mask, state):
            write(i, state, part, values, size)

    return execute


def atomic(i: Instruction, at: Site) -> Execute:
    """atom and red. Threads that meet at one address take turns in thread order; a GPU
    takes them in any order, which float sums show in their last bits. A vector is that many
    atomic operations."""
    slots = at.slots
    packed = next((word for word in i.modifiers if word in atomics.HALVES), None)
    words = [f"b{8 * atomics.HALVES[word]}" if word == packed else word for word in i.modifiers]
    space, kind, lanes, given = split_modifiers(
        replace(i, modifiers=tuple(words)), set(atomics.ATOMICS)
    )
    refuse(len(given) != 1, i)
    count = 2 if "cas" in given else 1  # what is behind them is a cache policy
    operation_in = atomics.operation(given.pop(), packed or kind, lanes)
    dtype, size = DTYPES[kind], bits(kind) // 8
    operands = list(i.operands)
    target = elements(operands.pop(0), lanes) if i.opcode == "atom" else ()
    address_of = slots.address(operands[0])
    columns = [slots.readers(operand, lanes, dtype) for operand in operands[1 : count + 1]]
    refuse(len(columns) < count, i)
    writers = [slots.writer(x, dtype) for x in target]

    def execute(state: State, mask: Mask) -> None:
        whole = address_of(state.registers)
        for home, address, part in spaces_of(space, whole, mask, state):
            part = reach(i, state, "atomic", (home, address, part), size * lanes)
            active = state.full(part)
            index = np.broadcast_to((address // size) + home.rows[size], state.shape)[active]
            function = operation_in(home.name)
            unsigned = home.views[size]
            changed = False
            for lane in range(lanes):
                values = [
                    np.broadcast_to(column[lane](state.registers), state.shape)[active]
                    for column in columns
                ]
                here = index + lane
                old = atomics.take_turns(unsigned.view(dtype), here, values, function)
                changed |= bool((unsigned[here] != old.view(unsigned.dtype)).any())
                if writers:
                    full = np.zeros(state.shape, dtype)
                    full[active] = old
                    writers[lane](state.registers, full, part)
            if changed:
                state.changed = True
            else:  # as an attempt to take a lock that another holds
                state.poll(at.following, i, part, awaited(state, space, whole, part, size))

    return execute


MEMORY = {"ld": load, "ldu": load, "st": store, "atom": atomic, "red": atomic}
