"""Instructions by which the lanes of a warp talk: shfl, vote, redux, match, elect, bar.warp,
activemask.

All but activemask wait until the lanes of their member mask are there. PTX ISA, chapter 9.7.9.6
(shfl.sync) and 9.7.13 (bar.warp.sync, vote.sync, redux.sync, activemask).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..aliases import Array, Execute, Mask, Site, State
from ..memory.atomics import ATOMICS
from ..memory.events import WarpSync
from ..text.forms import DTYPES, elements, match_modifiers, refuse, signed
from ..text.syntax import Instruction, Symbol

LANES = 32


def by_warp(x: Array, state: State) -> Any:
    """(B, T) or what broadcasts to it -> (B, warps, 32), short warps filled up with 0 or False."""
    return in_warps(x, *state.shape)


def in_warps(x: Array, blocks: int, threads: int) -> Any:
    """As `by_warp`, of any chunk of so many blocks of so many threads."""
    if x.shape == (blocks, threads) and threads % LANES == 0:
        return x.reshape(blocks, -1, LANES)
    warps = -(-threads // LANES)
    padded = np.zeros((blocks, warps * LANES), x.dtype)
    padded[:, :threads] = x
    return padded.reshape(blocks, warps, LANES)


def by_thread(x: Array, state: State) -> Any:
    """The inverse of by_warp."""
    blocks, threads = state.shape
    return x.reshape(blocks, -1)[:, :threads]


def ballot(predicate: Array) -> Any:
    """(B, W, 32) bool -> (B, W, 32) uint32, the same mask for every lane."""
    weights = np.uint32(1) << np.arange(LANES, dtype=np.uint32)
    mask = np.where(predicate, weights, np.uint32(0)).sum(-1, dtype=np.uint32, keepdims=True)
    return np.broadcast_to(mask, predicate.shape)


def gather(run: Any, complete_of: Any, i: Instruction, at: Site, reason: str) -> Execute:
    """Run `run(state, mask)` for those threads whose group has come to this instruction, which
    `complete_of(state, here)` says, bool (B, T), and let the others wait. `reason`: what is wrong
    if they wait for ever."""

    def end(state: State, mask: Mask) -> None:
        place = at.following - 1 + state.base
        if place in state.gathering:
            mask = state.full(mask) | state.gathering.pop(place)[0]
        mask = None if mask is None else state.full(mask)
        here = state.full(mask)
        going = here & complete_of(state, here)
        if not going[here].all():
            state.gathering[place] = (here & ~going, i, reason)
            if not going.any():
                return
            mask = going
        run(state, mask)
        state.go(at.following, mask)

    return end


def together(
    exchange: Callable[..., None], members_of: Any, i: Instruction, at: Site, sources_of: Any = None
) -> Execute:
    """Run `exchange(state, mask, active, members)` for a warp as soon as all lanes that its
    member mask names, and that have not exited, have come to this instruction. `sources_of`
    gives the lanes that are read, for the sink."""

    def complete_of(state: State, here: Any) -> Any:
        if here.all():
            return here
        members = by_warp(members_of(state.registers), state)
        expected = members & ballot(by_warp(state.alive, state))
        return by_thread((expected & ~ballot(by_warp(here, state))) == 0, state)

    def run(state: State, mask: Mask) -> None:
        active = by_warp(state.full(mask), state)
        members = by_warp(members_of(state.registers), state)
        if state.sink is not None:
            sources = by_thread(sources_of(state)[0], state) if sources_of else None
            for n, each in enumerate(at.run, 1 - len(at.run)):
                about = state.blocks, state.shape[1], state.steps + n
                state.sink(WarpSync(each, *about, by_thread(members, state), mask, sources))
        exchange(state, mask, active, members)

    return gather(run, complete_of, i, at, "the member mask names lanes that never come here")


def shuffle(i: Instruction, at: Site) -> Execute:
    """shfl.sync: each lane reads a register of another one."""
    _, mode, _ = match_modifiers(i, "sync", "up down bfly idx", "b32")
    target = elements(i.operands[0])
    write = at.slots.writer(target[0], np.uint32)
    write_valid = at.slots.writer(target[1] if len(target) > 1 else Symbol("_"), np.bool_)
    readers = [at.slots.reader(operand, np.uint32) for operand in i.operands[1:4]]
    members_of = at.slots.reader(i.operands[4], np.uint32)

    def sources_of(state: State) -> Any:
        """The lane that each reads, and whether it is in the lane's segment."""
        shift, clamp = (by_warp(read(state.registers), state) for read in readers[1:])
        lane = np.arange(LANES, dtype=np.int64)
        shift = (shift & np.uint32(31)).astype(np.int64)
        limit = (clamp & np.uint32(31)).astype(np.int64)
        segment = (clamp >> np.uint32(8) & np.uint32(31)).astype(np.int64)
        last = (lane & segment) | (limit & ~segment)
        first = lane & segment
        source = {
            "up": lane - shift,
            "down": lane + shift,
            "bfly": lane ^ shift,
            "idx": first | (shift & ~segment),
        }[mode]
        valid = source >= last if mode == "up" else source <= last
        return np.where(valid, source, lane), valid

    def exchange(state: State, mask: Mask, active: Array, members: Array) -> None:
        value = by_warp(readers[0](state.registers), state)
        source, valid = sources_of(state)
        result = np.take_along_axis(value, source, axis=-1)
        write(state.registers, by_thread(result, state), mask)
        write_valid(state.registers, by_thread(valid, state), mask)

    return together(exchange, members_of, i, at, sources_of)


def vote(i: Instruction, at: Site) -> Execute:
    """vote.sync: all, any, uni and ballot of the members' predicates."""
    _, mode, _ = match_modifiers(i, "sync", "all any uni ballot", "pred b32")
    write = at.slots.writer(i.operands[0], np.uint32 if mode == "ballot" else np.bool_)
    predicate_of = at.slots.reader(i.operands[1], np.bool_)
    members_of = at.slots.reader(i.operands[2], np.uint32)

    def exchange(state: State, mask: Mask, active: Array, members: Array) -> None:
        taking_part = ballot(active) & members
        votes = ballot(by_warp(predicate_of(state.registers), state) & active) & members
        result = {
            "all": votes == taking_part,
            "any": votes != 0,
            "ballot": votes,
            "uni": (votes == 0) | (votes == taking_part),
        }[mode]
        write(state.registers, by_thread(result, state), mask)

    return together(exchange, members_of, i, at)


def active_mask(i: Instruction, at: Site) -> Execute:
    """activemask: a bit for each lane that runs this together."""
    write = at.slots.writer(i.operands[0], np.uint32)

    def execute(state: State, mask: Mask) -> None:
        lanes = ballot(by_warp(state.full(mask), state))
        write(state.registers, by_thread(lanes, state), mask)

    return execute


REDUCTIONS: dict[str, Any] = {name: ATOMICS[name] for name in ("min", "max", "and", "or", "xor")}
REDUCTIONS["add"] = np.add


def reduce(i: Instruction, at: Site) -> Execute:
    """redux.sync: one integer for all the lanes of the member mask. Groups of a warp that come
    together have masks of their own, so each lane takes what its own mask names."""
    _, name, kind = match_modifiers(i, "sync", " ".join(REDUCTIONS), "u32 s32 b32")
    function, dtype = REDUCTIONS[name], DTYPES[kind]
    limits = np.iinfo(dtype)
    every = -1 if signed(kind) else limits.max
    neutral = {"and": every, "min": limits.max, "max": limits.min}.get(name, 0)
    write = at.slots.writer(i.operands[0], dtype)
    value_of = at.slots.reader(i.operands[1], dtype)
    members_of = at.slots.reader(i.operands[2], np.uint32)

    def exchange(state: State, mask: Mask, active: Array, members: Array) -> None:
        lanes = np.arange(LANES, dtype=np.uint32)
        named = (members[..., None] >> lanes & np.uint32(1)).astype(bool) & active[..., None, :]
        value = by_warp(value_of(state.registers), state)[..., None, :]
        result = function.reduce(np.where(named, value, dtype(neutral)), axis=-1, dtype=dtype)
        write(state.registers, by_thread(result, state), mask)

    return together(exchange, members_of, i, at)


def match(i: Instruction, at: Site) -> Execute:
    """match.any: the lanes of the member mask with the same value. match.all: all of them, and
    whether they agree, else none."""
    words = set(i.modifiers)
    mode, kind = "all" if "all" in words else "any", i.modifiers[-1]
    refuse(words != {"sync", mode, kind} or kind not in ("b32", "b64"), i)
    target = elements(i.operands[0])
    write = at.slots.writer(target[0], np.uint32)
    write_agreed = at.slots.writer(target[1] if len(target) > 1 else Symbol("_"), np.bool_)
    value_of = at.slots.reader(i.operands[1], DTYPES[kind])
    members_of = at.slots.reader(i.operands[2], np.uint32)

    def exchange(state: State, mask: Mask, active: Array, members: Array) -> None:
        value = by_warp(np.broadcast_to(value_of(state.registers), state.shape), state)
        taking_part = ballot(active) & members
        weights = np.uint32(1) << np.arange(LANES, dtype=np.uint32)
        same = value[..., :, None] == value[..., None, :]
        result = np.where(same, weights, np.uint32(0)).sum(-1, dtype=np.uint32) & taking_part
        if mode == "all":
            agreed = result == taking_part
            result = np.where(agreed, taking_part, np.uint32(0))
            write_agreed(state.registers, by_thread(agreed, state), mask)
        write(state.registers, by_thread(result, state), mask)

    return together(exchange, members_of, i, at)


def elect(i: Instruction, at: Site) -> Execute:
    """elect.sync d|p, members: the lowest of them is the leader, whose number is d."""
    match_modifiers(i, "sync")
    lane_target, leads_target = i.operands[0].elements
    write_lane = at.slots.writer(lane_target, np.uint32)
    write_leads = at.slots.writer(leads_target, np.bool_)
    members_of = at.slots.reader(i.operands[1], np.uint32)

    def exchange(state: State, mask: Mask, active: Array, members: Array) -> None:
        taking_part = ballot(active) & members
        lowest = np.bitwise_count((taking_part & (~taking_part + np.uint32(1))) - np.uint32(1))
        lowest = lowest.astype(np.uint32)
        leads = lowest == np.arange(LANES, dtype=np.uint32)
        write_lane(state.registers, by_thread(lowest, state), mask)
        write_leads(state.registers, by_thread(leads, state), mask)

    return together(exchange, members_of, i, at)


def barrier(i: Instruction, at: Site) -> Execute:
    """bar.warp.sync: nothing to exchange."""
    return together(lambda *_: None, at.slots.reader(i.operands[0], np.uint32), i, at)


WARP = {"shfl": shuffle, "vote": vote, "redux": reduce, "match": match, "elect": elect}
WARP["bar.warp"] = barrier
