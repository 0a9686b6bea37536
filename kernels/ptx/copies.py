"""cp.async: copies from global to shared memory that land when they are waited for.

PTX ISA, chapter 9.7.9.25 (cp.async and its groups).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .access import reach
from .events import Landed
from .forms import Unsupported
from .integers import low_ones
from .syntax import Instruction


@dataclass
class Copy:
    """The copies of one instruction, one for each of these threads."""

    write: Callable[[np.ndarray], None]
    left: np.ndarray  # bool (B, T): those under way

    def land(self, state, threads: np.ndarray) -> None:
        now = self.left & threads
        if now.any():
            self.left &= ~now
            state.changed = True
            self.write(now)


def commit_group(i: Instruction, at):
    return lambda state, mask: state.copies.commit(state.full(mask))


def wait_all(i: Instruction, at):
    def execute(state, mask):
        state.copies.commit(state.full(mask))
        land_older(state, mask, 0)

    return execute


def wait_group(i: Instruction, at):
    pending = int(i.operands[0].value)
    return lambda state, mask: land_older(state, mask, pending)


def land_older(state, mask, pending: int) -> None:
    """All but the newest `pending` groups of each of these threads."""
    for copy, threads in state.copies.older(state.full(mask), pending):
        copy.land(state, threads)


def async_copy(i: Instruction, at):
    """cp.async.{ca,cg}.shared.global [to], [from], size{, source size}: missing bytes are zeros.

    The source is read at once and written to shared memory by the wait, so that a kernel which
    forgets to wait computes with what was there before."""
    words, slots = set(i.modifiers) - {"async"}, at.slots
    known = {"ca", "cg", "shared", "shared::cta", "global"}
    if {w for w in words if not w.startswith("L2::")} - known or "global" not in words:
        raise Unsupported(".".join(i.modifiers))
    to_address, from_address = slots.address(i.operands[0]), slots.address(i.operands[1])
    width = int(i.operands[2].value)
    read_size = slots.reader(i.operands[3], np.uint32) if len(i.operands) > 3 else None
    if width not in (4, 8, 16):
        raise Unsupported(f"cp.async of {width} bytes")

    def execute(state, mask):
        active = state.full(mask)
        source = np.broadcast_to(from_address(state.registers), state.shape)
        target = to_address(state.registers)
        count = np.uint32(width) if read_size is None else read_size(state.registers)
        count = np.broadcast_to(count, state.shape)
        reading = active & (count > 0)
        home, shared = state.spaces["global"], state.spaces["shared"]
        for n in np.unique(count[reading]):
            these = reading & (count == n)
            reading &= ~these | reach(i, state, "load", home, source, these, int(n), width)
        active = reach(i, state, "store", shared, target, active, width)
        words = [np.zeros(state.shape, np.uint32) for _ in range(width // 4)]
        for n, value in enumerate(home.load(source, reading, 4, width // 4)):
            left = np.clip(count[reading].astype(np.int64) - 4 * n, 0, 4)  # bytes of this word
            words[n][reading] = value & low_ones(8 * left.astype(np.uint32), np.uint32)[0]

        def land(done):
            shared.store(target, done, words, 4)
            if state.sink is not None:
                state.sink(
                    Landed(i, width, target, done, state.blocks, state.shape[1], state.steps)
                )

        state.copies.add(Copy(land, active.copy()), active)

    return execute


COPIES = {
    "cp.async": async_copy,
    "cp.async.commit_group": commit_group,
    "cp.async.wait_group": wait_group,
    "cp.async.wait_all": wait_all,
}
