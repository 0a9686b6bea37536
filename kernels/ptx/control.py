"""Control flow: branches, exits and barriers; and the instructions that change nothing here.

A decoder takes (instruction, slots, entry, index of the following instruction) and returns
`end(state, mask)`, which says where the threads of the mask go on.
PTX ISA, chapters 9.7.12 (control flow) and 9.7.13.1 (barriers).
"""

from __future__ import annotations

import numpy as np

from . import warp
from .errors import PTXError
from .events import Arrived, Barrier, Fenced, Guarded
from .forms import Unsupported
from .memory import LOCAL_WINDOW, SHARED_WINDOW


def guarded(execute, predicate_of, i):
    """Run only the threads whose guard predicate is true."""

    def run(state, mask):
        taken, _ = split(predicate_of(state.registers), mask)
        if taken is not False:
            if state.sink is not None:
                state.sink(Guarded(i, taken, state.blocks, state.shape[1], state.steps))
            execute(state, taken)

    return run


def split(predicate, mask):
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


def go_to(target: int):
    return lambda state, mask: state.go(target, mask)


def exit_threads(state, mask):
    if mask is None:
        state.alive[:] = False
    else:
        state.alive &= ~mask
    for number in list(state.waiting):  # those who wait need not wait for these any more
        release(state, number)
    for pc, (waiting, _) in state.gathering.items():
        state.go(pc, waiting)
    state.gathering.clear()


def branch(i, slots, entry, following):
    if set(i.modifiers) - {"uni"}:
        raise Unsupported(".".join(i.modifiers))
    target = entry.labels[i.operands[0].name]
    if i.guard is None:
        return go_to(target)
    predicate_of = slots.guard(i)

    def end(state, mask):
        taken, left = split(predicate_of(state.registers), mask)
        if taken is not False:
            state.go(target, taken)
        if left is not False:
            state.go(following, left)

    return end


def indexed_branch(i, slots, entry, following):
    """brx.idx index, list of labels: how a switch compiles."""
    if i.modifiers[0] != "idx" or i.guard is not None:
        raise Unsupported(".".join(i.modifiers))
    index_of = slots.reader(i.operands[0], np.uint32)
    targets = [entry.labels[name] for name in entry.branch_targets[i.operands[1].name]]

    def end(state, mask):
        index = np.broadcast_to(index_of(state.registers), state.shape)
        active = state.full(mask)
        if (index[active] >= len(targets)).any():
            b, t = np.argwhere(active & (index >= len(targets)))[0]
            raise PTXError(
                f"brx.idx with index {int(index[b, t])}, but {len(targets)} targets",
                instruction=i,
                thread=state.describe_thread(b, t),
            )
        for n, target in enumerate(targets):
            going = active & (index == n)
            if going.any():
                state.go(target, going)

    return end


def leave(i, slots, entry, following):
    """ret and exit; a thread that leaves the entry is done."""
    if i.modifiers and i.modifiers != ("uni",):
        raise Unsupported(".".join(i.modifiers))
    if i.guard is None:
        return exit_threads
    predicate_of = slots.guard(i)

    def end(state, mask):
        leaving, left = split(predicate_of(state.registers), mask)
        if left is not False:
            state.go(following, left)
        if leaving is not False:
            exit_threads(state, leaving)

    return end


def trap(i, slots, entry, following):
    predicate_of = slots.guard(i) if i.guard else None

    def end(state, mask):
        taken = mask
        if predicate_of is not None:
            taken, left = split(predicate_of(state.registers), mask)
            if left is not False:
                state.go(following, left)
        if taken is not False:
            b, t = np.argwhere(state.full(taken))[0]
            raise PTXError("the kernel trapped", instruction=i, thread=state.describe_thread(b, t))

    return end


# -- barriers ---------------------------------------------------------------------------------


def barrier(i, slots, entry, following):
    """bar.sync, bar.arrive, bar.red: threads of a block wait for each other.

    A barrier completes when all threads of the block that have not exited are there, or as many
    as its thread count says."""
    if i.modifiers[:1] == ("warp",):
        return warp_wide(i, slots, entry, following)
    kind = next((m for m in i.modifiers if m in ("sync", "arrive", "red")), None)
    if (
        kind is None
        or set(i.modifiers)
        - {"sync", "arrive", "red", "aligned", "cta", "popc", "and", "or", "u32", "pred"}
        or i.guard is not None
    ):
        raise Unsupported(".".join(i.modifiers) + (" under a guard" if i.guard else ""))
    operands, combine = list(i.operands), None
    if kind == "red":
        combine = reduction(i, slots, operands)
    number_of = slots.reader(operands[0], np.uint32)
    count_of = slots.reader(operands[1], np.uint32) if len(operands) > 1 else None

    def end(state, mask):
        number = one_value(number_of, state, mask, i)
        count = one_value(count_of, state, mask, i) if count_of else None
        if (
            mask is None
            and kind == "sync"
            and count in (None, state.shape[1])
            and number not in state.arrived
        ):
            announce(state, i, number, mask)
            state.go(following, mask)
            return
        here = state.full(mask)
        if kind == "arrive":
            state.arrived.setdefault(number, np.zeros(len(here), np.int64))
            state.arrived[number] += here.sum(1)
            if state.sink is not None:
                state.sink(Arrived(i, number, mask, state.blocks, state.shape[1], state.steps))
            state.go(following, mask)
        else:
            groups = state.waiting.setdefault(number, {})
            if following in groups:
                here = here | groups[following][0]
            groups[following] = (here, i, combine, count)
        release(state, number)

    return end


def one_value(read, state, mask, i) -> int:
    """A barrier's number or thread count, which must be the same for all who are here."""
    values = np.broadcast_to(read(state.registers), state.shape)[state.full(mask)]
    if (values != values[0]).any():
        raise PTXError("threads give different numbers for one barrier", instruction=i)
    return int(values[0])


def release(state, number: int) -> None:
    """Let the blocks go on in which everybody has arrived."""
    groups = state.waiting.get(number)
    if not groups:
        return
    here = np.logical_or.reduce([mask for mask, *_ in groups.values()])
    *_, (*_, count) = groups.values()  # of the last to come
    there = here.sum(1) + state.arrived.get(number, 0)
    needed = state.alive.sum(1) if count is None else count
    done = (there >= needed) & here.any(1)
    if not done.any():
        return
    going = here & done[:, None]
    waited = tuple((i, mask & going) for mask, i, *_ in groups.values() if (mask & going).any())
    for pc, (mask, i, combine, _) in list(groups.items()):
        if combine is not None:
            combine(state, going)
        state.go(pc, mask & going)
        left = mask & ~going
        groups.pop(pc)
        if left.any():
            groups[pc] = (left, i, combine, count)
    announce(state, waited[0][0], number, None if going.all() else going, count, waited)
    if not groups:
        del state.waiting[number]
    if number in state.arrived:
        state.arrived[number][done] = 0
        if not state.arrived[number].any():
            del state.arrived[number]


def announce(state, i, number: int, mask, count: int | None = None, waited=()) -> None:
    if state.sink is not None:
        state.sink(
            Barrier(i, number, mask, state.blocks, state.shape[1], state.steps, count, waited)
        )


def reduction(i, slots, operands: list):
    """bar.red: what the threads of a block agree on. Takes its operands out of the list."""
    target, predicate = operands.pop(0), operands.pop()
    predicate_of = slots.reader(predicate, np.bool_)
    if "popc" in i.modifiers:
        write = slots.writer(target, np.uint32)
        reduce = lambda votes, there: votes.sum(1, dtype=np.uint32)
    elif {"and", "or"} & set(i.modifiers):
        write = slots.writer(target, np.bool_)
        every = "and" in i.modifiers
        reduce = lambda votes, there: (votes | ~there).all(1) if every else votes.any(1)
    else:
        raise Unsupported(".".join(i.modifiers))

    def combine(state, going):
        votes = predicate_of(state.registers) & going
        write(state.registers, reduce(votes, going)[:, None], going)

    return combine


def warp_wide(i, slots, entry, following):
    """shfl, vote, redux, bar.warp.sync: the lanes of a warp wait for each other."""
    decode = warp.barrier if i.opcode in ("bar", "barrier") else warp.WARP[i.opcode]
    run = decode(i, slots, following)
    predicate_of = slots.guard(i) if i.guard else None

    def end(state, mask):
        if predicate_of is not None:
            mask, left = split(predicate_of(state.registers), mask)
            if left is not False:
                state.go(following, left)
            if mask is False:
                return
        if following - 1 in state.gathering:
            mask = state.full(mask) | state.gathering.pop(following - 1)[0]
        run(state, mask)

    return end


CONTROL = {
    "bra": branch,
    "brx": indexed_branch,
    "ret": leave,
    "exit": leave,
    "trap": trap,
    "bar": barrier,
    "barrier": barrier,
    **dict.fromkeys(warp.WARP, warp_wide),
}


# -- neither control nor arithmetic -----------------------------------------------------------


def nothing(i, slots):
    """Hints."""
    return lambda state, mask: None


def fence(i, slots):
    """Threads of a chunk run in lockstep and see each other's stores: only the sink is told."""

    def execute(state, mask):
        if state.sink is not None:
            state.sink(Fenced(i, mask, state.blocks, state.shape[1], state.steps))

    return execute


def change_window(i, slots):
    """cvta: between a space's own addresses and generic ones."""
    to = i.modifiers[0] == "to"
    space, kind = i.modifiers[-2:]
    start = {
        "global": 0,
        "const": 0,
        "param": 0,
        "shared": SHARED_WINDOW,
        "shared::cta": SHARED_WINDOW,
        "local": LOCAL_WINDOW,
    }[space]
    dtype = {"u64": np.uint64, "u32": np.uint32}[kind]
    if kind == "u32" and start:
        raise Unsupported(".".join(i.modifiers))
    read, write = slots.reader(i.operands[1], dtype), slots.writer(i.operands[0], dtype)
    shift = dtype((-start if to else start) & (2 ** (8 * dtype().itemsize) - 1))
    if not start:
        return lambda state, mask: write(state.registers, read(state.registers), mask)
    return lambda state, mask: write(state.registers, read(state.registers) + shift, mask)


SIMPLE = {
    "activemask": warp.active_mask,
    "cvta": change_window,
    **dict.fromkeys(("membar", "fence"), fence),
    **dict.fromkeys(("nanosleep", "prefetch", "prefetchu"), nothing),
}
