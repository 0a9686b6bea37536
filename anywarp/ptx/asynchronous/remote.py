"""st.async: stores into the shared memory of a block of the cluster, which report their bytes to
an mbarrier.

PTX wants the mbarrier in the block that is written to. An H200 lets st.async report to another
block's, and so does this. The stores land when a thread looks at the mbarrier, as bulk copies do
(`proxy`). PTX ISA, chapter 9.7.9.12 (st.async).
"""

from __future__ import annotations

import numpy as np

from ..aliases import Array, Execute, Mask, Site, State
from ..memory.access import split_modifiers
from ..memory.allocations import UNSIGNED
from ..memory.events import Started, Stretches
from ..memory.remote_shared import in_shared, space_of, within
from ..text.forms import bits, refuse
from ..text.syntax import Instruction
from .bulk import INTO_SHARED


def store(i: Instruction, at: Site) -> Execute:
    """st.async [to], value, [mbarrier]."""
    space, kind, lanes, given = split_modifiers(i, {"async", INTO_SHARED})
    size = bits(kind) // 8
    refuse(space not in ("generic", "shared::cluster") or INTO_SHARED not in given or size < 4, i)
    space, width = space_of(i.modifiers), size * lanes
    target_of, barrier_of = at.slots.address(i.operands[0]), at.slots.address(i.operands[2])
    readers = at.slots.readers(i.operands[1], lanes, UNSIGNED[size])

    def execute(state: State, mask: Mask) -> None:
        shared, registers = state.spaces["shared"], state.registers
        target = in_shared(i, state, space, target_of(registers), mask)
        barrier = in_shared(i, state, space, barrier_of(registers), mask)
        right = within("store", shared, target, width, width)
        right[right] = within("atomic", shared, barrier[right], 8, 8)
        target, barrier = target[right], barrier[right]
        values = [target.values(read(registers)) for read in readers]
        if not (count := len(target)):
            return

        def land(now: Array) -> None:
            index = (shared.row[target.row[now], 0] + target.address[now]) // size
            for lane, value in enumerate(values):
                shared.views[size][index + lane] = value[now]

        ticket, sizes = state.tickets(count), np.full(count, width)
        written = Stretches("shared", np.arange(count), target.row, target.address, sizes)
        state.tell(Started, i, ticket, target.block, target.thread, (), (written,))
        state.flights.add(barrier, land, sizes, ticket)

    return execute


REMOTE = {"st.async": store}
