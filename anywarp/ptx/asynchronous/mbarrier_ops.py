"""The mbarrier instructions: how threads reach the objects that `mbarriers` describes.

PTX ISA, chapter 9.7.13.15 (mbarrier).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..aliases import Execute, Mask, Operand, Site, State
from ..memory.remote_shared import SHARED_WORDS, Places, in_space, space_of, within
from ..text.forms import refuse
from ..text.syntax import Immediate, Instruction, Symbol
from . import mbarriers

ORDER = {"release", "acquire", "relaxed", "cta", "cluster"}  # threads run in lockstep


def words_of(i: Instruction, known: str = "") -> set[str]:
    """The modifiers after the operation's name that are not about order or space."""
    words = set(i.modifiers[1:]) - {"b64"} - ORDER - SHARED_WORDS
    refuse("b64" not in i.modifiers or words - set(known.split()), i)
    return words


def objects(i: Instruction, operand: Operand, at: Site, far: bool = False) -> Callable[..., Any]:
    """A function (state, mask) -> the places of the objects that the threads name. `far`: they
    may lie in other blocks of the cluster."""
    address_of, space = at.slots.address(operand), space_of(i.modifiers)
    refuse(space == "shared::cluster" and not far, f".{space}")

    def find(state: State, mask: Mask) -> Places:
        places = in_space(i, state, space, address_of(state.registers), mask)
        fine = within("atomic", state.spaces["shared"], places, 8, 8)
        places = places if fine.all() else places[fine]
        why = "is another block's: this is for the threads of that block alone"
        if not far:
            mbarriers.require(places.row == places.block, places, lambda n: why)
        return places

    return find


def number(operand: Operand, at: Site) -> Callable[..., Any]:
    """A function of places -> the operand of the threads that name these places."""
    read = at.slots.reader(operand, np.uint32)
    return lambda places: places.values(read(places.state.registers)).astype(np.int64)


def on_objects(
    act: Callable[..., None], counts: bool = True, far: bool = False
) -> Callable[..., Execute]:
    """The decoder of what does `act(places)` or, with a second operand, `act(places, count)`."""

    def decode(i: Instruction, at: Site) -> Execute:
        words_of(i)
        find = objects(i, i.operands[0], at, far)
        count_of = number(i.operands[1], at) if counts else None

        def execute(state: State, mask: Mask) -> None:
            places = find(state, mask)
            act(places, *([count_of(places)] if count_of else []))

        return execute

    return decode


def arrive(i: Instruction, at: Site) -> Execute:
    """mbarrier.arrive and mbarrier.arrive_drop: the last operand counts arrivals or, with
    .expect_tx, the bytes that the thread expects before it arrives once."""
    words = words_of(i, "noComplete expect_tx")
    write = at.slots.writer(i.operands[0], np.uint64)
    find = objects(i, i.operands[1], at, far=True)
    refuse(len(words) > 1 or (words and len(i.operands) < 3), i)
    far = "shared::cluster" in i.modifiers
    refuse(far and i.operands[0] != Symbol("_"), "a state of an object of .shared::cluster")
    last = number(i.operands[2] if len(i.operands) > 2 else Immediate(1), at)
    drop, completes = i.modifiers[0] == "arrive_drop", "noComplete" not in words

    def execute(state: State, mask: Mask) -> None:
        places = find(state, mask)
        given = last(places)
        size, count = (given, np.ones_like(given)) if "expect_tx" in words else (None, given)
        states = np.zeros(state.shape, np.uint64)
        states[places.block, places.thread] = mbarriers.arrive(places, count, size, drop, completes)
        write(state.registers, states, mask)

    return execute


def wait(i: Instruction, at: Site) -> Execute:
    """mbarrier.test_wait and mbarrier.try_wait: whether a phase is over, the one of a state or
    that of a parity. If it is not, what reports to the object lands, and that may end it. A GPU may
    let the thread of a try_wait sleep for a while; here the scheduler lets others run."""
    by_parity = "parity" in words_of(i, "parity")
    write = at.slots.writer(i.operands[0], np.bool_)
    find = objects(i, i.operands[1], at)
    token = at.slots.reader(i.operands[2], np.uint32 if by_parity else np.uint64)

    def execute(state: State, mask: Mask) -> None:
        places = find(state, mask)
        given = places.values(token(state.registers))
        wanted = mbarriers.wanted(places, given, by_parity)
        over = mbarriers.parity(mbarriers.look(places)) != wanted
        if not over.all():
            state.flights.land(places[~over])
            over |= mbarriers.parity(mbarriers.look(places)) != wanted
        mbarriers.tell("wait", places[over], wanted[over])
        if not over.all():
            mbarriers.tell("look", places[~over], wanted[~over])
            late = places[~over]
            waiting = np.zeros(state.shape, bool)
            waiting[late.block, late.thread] = True
            state.poll(at.following, i, waiting, lambda _: mbarriers.stuck(late))
        done = np.zeros(state.shape, bool)
        done[places.block, places.thread] = over
        write(state.registers, done, mask)

    return execute


def pending_count(i: Instruction, at: Site) -> Execute:
    """How many arrivals were pending in a state."""
    words_of(i)
    write = at.slots.writer(i.operands[0], np.uint32)
    read = at.slots.reader(i.operands[1], np.uint64)

    def execute(state: State, mask: Mask) -> None:
        pending = mbarriers.unpack(read(state.registers)).pending
        write(state.registers, pending.astype(np.uint32), mask)

    return execute


MBARRIERS = {
    "mbarrier.init": on_objects(mbarriers.initialise),
    "mbarrier.inval": on_objects(mbarriers.invalidate, counts=False),
    "mbarrier.expect_tx": on_objects(mbarriers.expect, far=True),
    "mbarrier.complete_tx": on_objects(mbarriers.complete, far=True),
    **dict.fromkeys(("mbarrier.arrive", "mbarrier.arrive_drop"), arrive),
    **dict.fromkeys(("mbarrier.test_wait", "mbarrier.try_wait"), wait),
    "mbarrier.pending_count": pending_count,
}
