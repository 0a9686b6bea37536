"""st.async and red.async: stores into the shared memory of a block of the cluster, which report
their bytes to an mbarrier, and what is combined there with what memory holds.

PTX wants the mbarrier in the block that is written to. An H200 lets st.async report to another
block's, and so does this. The stores land when a thread looks at the mbarrier, as bulk copies do
(`proxy`). PTX ISA, chapter 9.7.9.12 (st.async) and 9.7.13.
"""

from __future__ import annotations

import functools

import numpy as np

from ..aliases import Execute, Mask, Site, State
from ..memory import atomics
from ..memory.access import split_modifiers
from ..memory.allocations import UNSIGNED
from ..memory.remote_shared import in_space, space_of, within
from ..text.forms import bits, refuse
from ..text.syntax import Instruction
from .bulk import INTO_SHARED, Cargo, begin, elements, stretches

COMBINES = set(atomics.ATOMICS) - {"cas", "exch"}


def store(i: Instruction, at: Site) -> Execute:
    """st.async [to], value, [mbarrier]; red.async, which combines as an atomic does."""
    space, kind, lanes, given = split_modifiers(i, COMBINES | {"async", INTO_SHARED})
    size, ways = bits(kind) // 8, given - {"async", INTO_SHARED}
    refuse(space not in ("generic", "shared::cluster") or INTO_SHARED not in given or size < 4, i)
    refuse(len(ways) != (i.opcode == "red") or (ways and kind[0] == "f"), i)
    dtype, combine = UNSIGNED[size], None
    if ways:
        dtype, combine = atomics.combined(ways.pop(), kind, "shared")
    space, width = space_of(i.modifiers), size * lanes
    target_of, barrier_of = at.slots.address(i.operands[0]), at.slots.address(i.operands[2])
    readers = at.slots.readers(i.operands[1], lanes, UNSIGNED[size])

    def execute(state: State, mask: Mask) -> None:
        shared, registers = state.spaces["shared"], state.registers
        target = in_space(i, state, space, target_of(registers), mask)
        barrier = in_space(i, state, space, barrier_of(registers), mask)
        right = within("store", shared, target, width, width)
        right[right] = within("atomic", shared, barrier[right], 8, 8)
        target, which = target[right], np.arange(right.sum())
        values = np.stack([target.values(read(registers)) for read in readers], axis=1)
        view, given = shared.views[size].view(dtype), elements(shared, target, size, lanes)
        writes = functools.partial(stretches, "shared", target, width)
        cargo = Cargo(view, view, values.view(dtype), which, given, combine=combine)
        begin(cargo, target, barrier[right], width, None, writes)

    return execute


REMOTE = {"st.async": store, "red.async": store}
