"""Control flow: branches, exits and barriers; and the instructions that change nothing here.

A decoder takes an instruction and its site and returns `end(state, mask)`, which says where the
threads of the mask go on; those that a guard holds back are no concern of it.
PTX ISA, chapters 9.7.12 (control flow) and 9.7.13.1 (barriers).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..aliases import Array, Execute, Mask, Reader, Registers, Site, Slots, State
from ..calls import functions
from ..errors import PTXError
from ..memory import clusters, windows
from ..memory.events import Arrived, Barrier, Fenced, Guarded
from ..text.forms import Unsupported, refuse
from ..text.syntax import Instruction
from ..warps import warp, warpgroup
from ..warps.matrix import MATRIX
from ..warps.wmma import WMMA


def guarded(execute: Execute, predicate_of: Reader, i: Instruction) -> Callable[..., Any]:
    """Run only the threads whose guard predicate is true."""

    def run(state: State, mask: Mask) -> None:
        taken, _ = split(predicate_of(state.registers), mask)
        if taken is not False:
            state.tell(Guarded, i, taken)
            execute(state, taken)

    return run


def guarded_end(end: Execute, predicate_of: Reader, following: int) -> Callable[..., Any]:
    """The same for an instruction that says where threads go on."""

    def run(state: State, mask: Mask) -> None:
        taken, left = split(predicate_of(state.registers), mask)
        if left is not False:
            state.go(following, left)
        if taken is not False:
            end(state, taken)

    return run


def split(predicate: Array, mask: Mask) -> Any:
    """The threads of the mask where the predicate is true, and those where it is not.

    Either is False where nobody is left, and None where all threads of the chunk are."""
    if predicate.size == 1:  # uniform: nobody diverges
        return (mask, False) if predicate[0, 0] else (False, mask)
    if mask is None and predicate.all():
        return None, False
    yes = predicate if mask is None else predicate & mask
    no = ~yes if mask is None else mask & ~yes
    if not yes.any():
        return False, mask
    return yes, no if no.any() else False


def go_to(target: int) -> Callable[..., Any]:
    """What lets threads continue at a program counter."""
    return lambda state, mask: state.go(target, mask)


def exit_threads(state: State, mask: Mask) -> None:
    """The end of the threads of the mask; who waits for them waits no longer."""
    state.changed = True
    if mask is None:
        state.alive[:] = False
    else:
        state.alive &= ~mask
    for number in list(state.waiting):  # those who wait need not wait for these any more
        release(state, number)
    for place, (waiting, *_) in state.gathering.items():
        state.resume(place, waiting)
    state.gathering.clear()
    state.flights.leave(state)
    clusters.release(state)


def branch(i: Instruction, at: Site) -> Execute:
    """bra label."""
    refuse(set(i.modifiers) - {"uni"}, i)
    return go_to(at.target(i.operands[0].name))


def indexed_branch(i: Instruction, at: Site) -> Execute:
    """brx.idx index, list of labels: how a switch compiles."""
    refuse(set(i.modifiers) - {"idx", "uni"}, i)
    index_of = at.slots.reader(i.operands[0], np.uint32)
    targets = [at.target(name) for name in at.function.branch_targets[i.operands[1].name]]

    def end(state: State, mask: Mask) -> None:
        index = np.broadcast_to(index_of(state.registers), state.shape)
        why = lambda at: f"brx.idx with index {int(index[at])}, but {len(targets)} targets"
        state.require(index < len(targets), mask, i, why)
        for n, going in state.alike([index], mask):
            state.go(targets[n], going)

    return end


def leave(i: Instruction, at: Site) -> Execute:
    """ret: back from a function, or, in a kernel, the end of the thread, as exit is everywhere."""
    refuse(i.modifiers not in ((), ("uni",)), i)
    returns = i.opcode == "ret" and at.function.name in at.linked.callees
    return functions.leave_function(i, at) if returns else exit_threads


def trap(i: Instruction, at: Site) -> Execute:
    """trap: raises a PTXError."""
    of_grid = ("", "%envreg2") in at.slots.table  # cg::this_grid() reads it

    def end(state: State, mask: Mask) -> None:
        message = "the kernel trapped"
        if of_grid and not state.launch.workspace:
            message += (
                ": so does grid.sync() in a launch that is not cooperative. "
                "RawKernel(…, enable_cooperative_groups=True) makes launches that are"
            )
        raise PTXError(message, instruction=i, thread=state.first_thread(mask))

    return end


# -- barriers ---------------------------------------------------------------------------------


BARRIER_WORDS = set("sync arrive red aligned cta popc and or u32 pred".split())


def barrier(i: Instruction, at: Site) -> Execute:
    """bar.sync, bar.arrive, bar.red: threads of a block wait for each other.

    A barrier completes when all threads of the block that have not exited are there, or as many
    as its thread count says. Number and count are each thread's own."""
    slots, following = at.slots, at.following
    kind = next((m for m in i.modifiers if m in ("sync", "arrive", "red")), None)
    refuse(kind is None or set(i.modifiers) - BARRIER_WORDS, i)
    operands, vote = list(i.operands), None
    if kind == "red":
        vote = reduction(i, slots, operands)
    number_of = slots.reader(operands[0], np.uint32)
    count_of = slots.reader(operands[1], np.uint32) if len(operands) > 1 else None

    def end(state: State, mask: Mask) -> None:
        values = [None if read is None else read(state.registers) for read in (number_of, count_of)]
        for number, count, here in state.alike(values, mask):
            wait(state, number, count, here)

    def wait(state: State, number: int, count: Array, mask: Mask) -> None:
        every = mask is None and count in (None, state.shape[1])
        if every and kind == "sync" and number not in state.arrived:
            state.tell(Barrier, i, number, mask)
            state.go(following, mask)
            return
        here = state.full(mask)
        if kind == "arrive":
            state.changed = True  # but no sync: who waits for a lock may meet there at each look
            state.arrived.setdefault(number, np.zeros(len(here), np.int64))
            state.arrived[number] += here.sum(1)
            state.tell(Arrived, i, number, mask)
            state.go(following, mask)
        else:
            groups, place = state.waiting.setdefault(number, {}), following + state.base
            counts = state.counts.setdefault(number, np.zeros(len(here), np.int64))
            counts[here.any(1)] = count or 0
            if place in groups:
                here = here | groups[place][0]
            groups[place] = (here, i, vote)
        release(state, number)

    return end


def release(state: State, number: int) -> None:
    """Let the blocks go on in which everybody has arrived. Each has its own count."""
    if number not in state.waiting:
        return
    here = np.logical_or.reduce([mask for mask, *_ in state.waiting[number].values()])
    counts = state.counts[number]
    there = here.sum(1) + state.arrived.get(number, 0)
    needed = np.where(counts > 0, counts, state.alive.sum(1))
    done = (there >= needed) & here.any(1)
    for count in np.unique(counts[done]).tolist():
        complete(state, number, here & (done & (counts == count))[:, None], count or None)
    if number in state.arrived:
        state.arrived[number][done] = 0
        if not state.arrived[number].any():
            del state.arrived[number]


def complete(state: State, number: int, going: Array, count: int | None) -> None:
    """All these threads, (B, T), have waited at a barrier of so many, at one place or several."""
    waiting = state.waiting[number]
    groups = [(place, *rest, mask & going) for place, (mask, *rest) in waiting.items()]
    groups = [group for group in groups if group[-1].any()]
    votes = np.zeros_like(going)
    for _, _, vote, those in groups:
        if vote is not None:
            votes |= vote[0](state.registers) & those
    for place, i, vote, those in groups:
        if vote is not None:
            vote[1](state.registers, votes, going, those)
        state.resume(place, those)
        left = waiting.pop(place)[0] & ~those
        if left.any():
            waiting[place] = (left, i, vote)
    if not waiting:
        del state.waiting[number]
    waited = tuple((i, those) for _, i, _, those in groups)
    state.tell(Barrier, waited[0][0], number, None if going.all() else going, count, waited)


def reduction(i: Instruction, slots: Slots, operands: list[Any]) -> tuple[Reader, Any]:
    """bar.red, of which this takes its operands out of the list: a thread's vote, and a function
    that writes for threads what those that have waited agree on."""
    target, predicate = operands.pop(0), operands.pop()
    if "popc" in i.modifiers:
        write = slots.writer(target, np.uint32)
        reduce = lambda votes, there: votes.sum(1, dtype=np.uint32)
    elif {"and", "or"} & set(i.modifiers):
        write = slots.writer(target, np.bool_)
        every = "and" in i.modifiers
        reduce = lambda votes, there: (votes | ~there).all(1) if every else votes.any(1)
    else:
        raise Unsupported(".".join(i.modifiers))

    def agree(registers: Registers, votes: Array, going: Array, those: Array) -> None:
        write(registers, reduce(votes, going)[:, None], those)

    return slots.reader(predicate, np.bool_), agree


CONTROL = {
    "bra": branch,
    "brx": indexed_branch,
    "call": functions.call,
    **dict.fromkeys(("ret", "exit"), leave),
    "trap": trap,
    "bar": barrier,
    "barrier": barrier,
    "barrier.cluster": clusters.barrier,
    **warp.WARP,
    **warpgroup.PRODUCTS,
    **MATRIX,
    **WMMA,
}


# -- neither control nor arithmetic -----------------------------------------------------------


def nothing(i: Instruction, at: Site) -> Execute:
    """Hints."""
    return lambda state, mask: None


def cache_policy(i: Instruction, at: Site) -> Execute:
    """createpolicy: what it gives is good for hints alone, which change nothing here."""
    write = at.slots.writer(i.operands[0], np.uint64)
    return lambda state, mask: write(state.registers, np.zeros(state.shape, np.uint64), mask)


FENCES = {
    *("cta", "gl", "gpu", "sys", "cluster", "sc", "acq_rel", "acquire", "release", "relaxed"),
    *("mbarrier_init", "sync_restrict::shared::cta", "sync_restrict::shared::cluster"),
    *("proxy", "alias", "async", "async::generic", "global", "tensormap::generic"),
    *("shared::cta", "shared::cluster"),
}


def fence(i: Instruction, at: Site) -> Execute:
    """Threads of a chunk run in lockstep and see each other's stores: only the sink is told."""
    refuse(set(i.modifiers) - FENCES, i)
    return lambda state, mask: state.tell(Fenced, i, mask)


SIMPLE = {
    "activemask": warp.active_mask,
    "createpolicy": cache_policy,
    **windows.ADDRESSES,
    **dict.fromkeys(("membar", "fence"), fence),
    **dict.fromkeys(("nanosleep", "brkpt", "pmevent", "applypriority"), nothing),
    # what is discarded may read as anything until it is written, also as it was
    **dict.fromkeys(("prefetch", "prefetchu", "cp.async.bulk.prefetch", "discard"), nothing),
    **warpgroup.GROUPS,
    # a grid that runs here has nothing before it that is under way
    **dict.fromkeys(("griddepcontrol.wait", "griddepcontrol.launch_dependents"), nothing),
}
