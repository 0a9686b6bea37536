"""cp.async: copies from global to shared memory that land when they are waited for.

PTX ISA, chapter 9.7.9.25 (cp.async and its groups).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..aliases import Array, Execute, Mask, Operand, Site, State
from ..arithmetic.integers import low_ones
from ..memory.access import reach
from ..memory.allocations import Space
from ..memory.events import Landed
from ..text.forms import refuse
from ..text.syntax import Instruction, Register
from . import mbarriers
from .mbarrier_ops import objects

KNOWN = {"ca", "cg", "shared", "shared::cta", "global", "L2::cache_hint"}
KNOWN |= {f"L2::{n}B" for n in (64, 128, 256)}


@dataclass
class Copy:
    """The copies of one instruction, one for each of these threads."""

    write: Callable[[Array], None]
    left: Array  # bool (B, T): those under way

    def land(self, state: State, threads: Array) -> None:
        now = self.left & threads
        if now.any():
            self.left &= ~now
            state.changed = True
            self.write(now)


def commit_group(i: Instruction, at: Site) -> Execute:
    """cp.async.commit_group: what each thread has issued becomes a group."""
    return lambda state, mask: state.copies.commit(state.full(mask))


def wait(i: Instruction, at: Site) -> Execute:
    """cp.async.wait_group N: all but the newest N groups of each thread land. cp.async.wait_all:
    all its copies do."""
    pending, every = (int(i.operands[0].value) if i.operands else 0), "wait_all" in i.modifiers

    def execute(state: State, mask: Mask) -> None:
        if every:
            state.copies.commit(state.full(mask))
        for copy, threads in state.copies.older(state.full(mask), pending):
            copy.land(state, threads)

    return execute


def source_size(operand: Operand, width: int, at: Site) -> Any:
    """A function registers -> how many bytes come from the source."""
    name = operand.name.removeprefix("!") if isinstance(operand, Register) else ""
    if at.function.registers.get(name) == "pred":
        ignored = at.slots.reader(operand, np.bool_)
        return lambda registers: np.where(ignored(registers), np.uint32(0), np.uint32(width))
    return at.slots.reader(operand, np.uint32)


def async_copy(i: Instruction, at: Site) -> Execute:
    """cp.async.{ca,cg}.shared.global [to], [from], size{, source size or predicate}{, policy}:
    missing bytes are zeros, all of them where the predicate says to ignore the source.

    The source is read at once and written to shared memory by the wait, so that a kernel which
    forgets to wait computes with what was there before."""
    words, slots = set(i.modifiers) - {"async"}, at.slots
    refuse(words - KNOWN or "global" not in words, i)
    to_address, from_address = slots.address(i.operands[0]), slots.address(i.operands[1])
    width = int(i.operands[2].value)
    refuse(width not in ((16,) if "cg" in words else (4, 8, 16)), f"{i.text} of {width} bytes")
    more = i.operands[3 : -1 if "L2::cache_hint" in words else None]
    refuse(len(more) > 1, "so many operands")
    read_size = source_size(more[0], width, at) if more else None
    every = np.full((1, 1), width, np.uint32)

    def execute(state: State, mask: Mask) -> None:
        source, target = from_address(state.registers), to_address(state.registers)
        count = every if read_size is None else read_size(state.registers)
        if count.max() > width:
            whole = np.broadcast_to(count, state.shape)
            why = lambda at: f"cp.async of {width} bytes of which {whole[at]} come from the source"
            state.require(whole <= width, mask, i, why)
        home, shared = state.spaces["global"], state.spaces["shared"]
        words = fetched(i, state, mask, home, source, count, width)
        active = state.full(reach(i, state, "store", (shared, target, mask), width))

        def land(done: Array) -> None:
            shared.store(target, None if done.all() else done, words, 4)
            state.tell(Landed, i, width, target, done)

        state.copies.add(Copy(land, active.copy()), active)

    return execute


def fetched(
    i: Instruction, state: State, mask: Mask, home: Space, source: Array, count: Array, width: int
) -> list[Any]:
    """The words of a copy of `width` bytes, of which the first `count` come from the source."""
    if count.min() == width:
        reading = reach(i, state, "load", (home, source, mask), width)
        words = home.load(source, None, 4, width // 4)
        return words if reading is mask else [np.where(reading, x, np.uint32(0)) for x in words]
    reading = state.full(mask) & (count > 0)
    whole = np.broadcast_to(count, state.shape)
    for n in sorted(set(whole[reading].tolist())):
        these = reading & (whole == n)
        reading &= ~these | reach(i, state, "load", (home, source, these), n, width)
    words = [np.where(reading, x, np.uint32(0)) for x in home.load(source, None, 4, width // 4)]
    if ((count == 0) | (count == width)).all():
        return words
    left = (np.clip(count.astype(np.int64) - 4 * n, 0, 4) for n in range(len(words)))  # bytes
    return [x & low_ones(8 * n.astype(np.uint32), np.uint32) for x, n in zip(words, left)]


def arrive(i: Instruction, at: Site) -> Execute:
    """cp.async.mbarrier.arrive: an arrival that comes when all copies of the thread to date have
    landed. One more is pending until then, with .noinc not."""
    words = set(i.modifiers) - {"async", "mbarrier", "arrive", "b64", "noinc"}
    refuse(words - {"shared", "shared::cta"} or "b64" not in i.modifiers, i)
    find, more = objects(i, i.operands[0], at), "noinc" not in i.modifiers

    def execute(state: State, mask: Mask) -> None:
        barriers = find(state, mask)
        if more:
            mbarriers.change(barriers, 1, np.zeros(len(barriers)))
        earlier = list(state.copies.of(state.full(mask)))

        def land(numbers: Array) -> None:
            here = barriers[numbers]
            threads = np.zeros(state.shape, bool)
            threads[here.block, here.thread] = True
            for copy, whose in earlier:
                copy.land(state, whose & threads)
            state.copies.forget(lambda copy: not copy.left.any())
            mbarriers.arrive(here, np.ones(len(here), np.int64))

        state.flights.add(barriers, land)

    return execute


COPIES = {
    "cp.async": async_copy,
    "cp.async.commit_group": commit_group,
    **dict.fromkeys(("cp.async.wait_group", "cp.async.wait_all"), wait),
    "cp.async.mbarrier.arrive": arrive,
}
