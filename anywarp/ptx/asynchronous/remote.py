"""st.async and red.async: stores and reductions in the shared memory of a block of the cluster,
which report their bytes to an mbarrier.

PTX wants the mbarrier in the block that is written to. An H200 lets st.async report to another
block's, and so does this; red.async, of which that was not tried, is refused it.

They land when a thread looks at the mbarrier, as bulk copies do (`proxy`).
PTX ISA, chapters 9.7.9.12 (st.async) and 9.7.13.8 (red.async).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..aliases import Array, Execute, Mask, Site, State
from ..memory import atomics
from ..memory.access import split_modifiers
from ..memory.allocations import UNSIGNED
from ..memory.events import Started, Stretches
from ..memory.remote_shared import Places, in_shared, require_together, space_of, within
from ..text.forms import DTYPES, bits, refuse
from ..text.syntax import Instruction

REPORTS = "mbarrier::complete_tx::bytes"
REDUCED = {
    "add": {"u32", "s32", "u64"},
    **{name: {"u32", "s32"} for name in ("min", "max")},
    **{name: {"u32"} for name in ("inc", "dec")},
    **{name: {"b32"} for name in ("and", "or", "xor")},
}


def operands(i: Instruction, at: Site, words: set[str]) -> Any:
    """(type, other known words, a function (state, mask) -> destinations, mbarriers, values)."""
    space, kind, lanes, given = split_modifiers(i, {"async", REPORTS, *words})
    size = bits(kind) // 8
    refuse(space not in ("generic", "shared::cluster") or REPORTS not in given or size < 4, i)
    space, dtype = space_of(i.modifiers), DTYPES[kind]
    target_of, barrier_of = at.slots.address(i.operands[0]), at.slots.address(i.operands[2])
    readers = at.slots.readers(i.operands[1], lanes, dtype)

    def find(state: State, mask: Mask) -> tuple[Places, Places, list[Array]]:
        shared, registers = state.spaces["shared"], state.registers
        target = in_shared(i, state, space, target_of(registers), mask)
        barrier = in_shared(i, state, space, barrier_of(registers), mask)
        right = within("store", shared, target, size * lanes, size * lanes)
        right[right] = within("atomic", shared, barrier[right], 8, 8)
        target, barrier = target[right], barrier[right]
        values = [target.values(read(registers)) for read in readers]
        return target, barrier, values

    return dtype, given - {"async", REPORTS}, find


def issue(target: Places, barrier: Places, width: int, land: Any) -> None:
    """Let operations of `width` bytes each fly, which `land(numbers)` carries out."""
    count, state = len(target), target.state
    if not count:
        return
    number, size = np.arange(count), np.full(count, width)
    ticket = state.tickets(count)
    written = Stretches("shared", number, target.row, target.address, size)
    state.tell(Started, target.i, ticket, target.block, target.thread, (), (written,))
    state.flights.add(barrier, land, size, ticket)


def index_of(target: Places, size: int) -> Array:
    """Where the places lie in shared memory, counted in elements of `size` bytes."""
    return (target.state.spaces["shared"].row[target.row, 0] + target.address) // size


def store(i: Instruction, at: Site) -> Execute:
    """st.async [to], value, [mbarrier]."""
    dtype, _, find = operands(i, at, set())
    unsigned = UNSIGNED[np.dtype(dtype).itemsize]
    size = unsigned().itemsize

    def execute(state: State, mask: Mask) -> None:
        target, barrier, values = find(state, mask)

        def land(now: Array) -> None:
            index, view = index_of(target[now], size), state.spaces["shared"].views[size]
            for lane, value in enumerate(values):
                view[index + lane] = value[now].view(unsigned)

        issue(target, barrier, size * len(values), land)

    return execute


def reduce(i: Instruction, at: Site) -> Execute:
    """red.async [to], value, [mbarrier]."""
    dtype, given, find = operands(i, at, set(REDUCED))
    kind = i.modifiers[-1]
    refuse(len(given) != 1 or kind not in REDUCED[name := given.pop()], i)
    function, size = atomics.ATOMICS[name], np.dtype(dtype).itemsize

    def execute(state: State, mask: Mask) -> None:
        target, barrier, (values,) = find(state, mask)
        require_together(target, barrier)

        def land(now: Array) -> None:
            view = state.spaces["shared"].views[size].view(dtype)
            atomics.take_turns(view, index_of(target[now], size), [values[now]], function)

        issue(target, barrier, size, land)

    return execute


REMOTE = {"st.async": store, "red.async": reduce}
