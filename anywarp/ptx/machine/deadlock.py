"""When nothing can happen any more: the proof, and who waits for whom in words.

A chunk of blocks goes round for ever if it is back where it was, its memory the same. Where it
was are the places of its threads, and what decides where they go from there: the registers that
reach a jump, an address or a value stored. A count of the rounds, or how long a thread means to
sleep, decides nothing. A clock may: then nothing happens before time has passed.
"""

from __future__ import annotations

import functools
import graphlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..aliases import Array, Mask
from ..errors import Deadlock, Endless, PTXError, thread_name
from ..memory import clusters
from ..text import flow, isa
from ..text.syntax import Instruction
from .registers import CLOCKS
from .state import State

PLAIN = {"arithmetic", "move"}  # what these write depends on what they read alone
IDLE = {"nanosleep", "prefetch", "prefetchu", "pmevent"}  # whatever their operands are


class Stuck(NamedTuple):
    """A chunk that nothing happens in, unless another one changes memory."""

    message: str
    instruction: Instruction
    thread: str
    timed: bool = False  # or time passes

    def error(self, kind: type[PTXError] = Endless, more: str = "") -> PTXError:
        """What to raise if nothing else is to come."""
        return kind(self.message + more, instruction=self.instruction, thread=self.thread)


# -- the proof --------------------------------------------------------------------------------


class Snapshot:
    """A chunk at one moment. Registers are replaced, never written to, so that keeping them
    costs nothing."""

    def __init__(self, state: State, last: int, quiet: int, until: int) -> None:
        """`last`: the place that ran before; `quiet`: turns since memory changed, and `until` how
        many the snapshot is good for."""
        self.registers, self.ready = list(state.registers), dict(state.ready)
        self.last, self.quiet, self.until = last, quiet, until
        self.visits = list(state.visits)
        self.differs = -1  # the slot of a register that did, when they were last compared
        state.forget_looks()  # from now on, those of the rounds to be compared

    def passed(self, program: Any, state: State) -> frozenset[int]:
        """The basic blocks that threads have run since."""
        return frozenset(pc for pc in program.blocks if state.visits[pc] != self.visits[pc])

    def again(self, program: Any, state: State, last: int) -> bool | None:
        """Whether the chunk is back here; None where it is, but for what a clock has told."""
        if last != self.last or state.ready.keys() != self.ready.keys():
            return False
        if not all(equal(state.ready[place], mask) for place, mask in self.ready.items()):
            return False
        n = self.differs  # it is likely to do so again
        if n >= 0 and not equal(self.registers[n], state.registers[n]):
            return False
        slots, timed = deciding(program, self.passed(program, state))
        for n in slots:
            if not equal(self.registers[n], state.registers[n]):
                self.differs = n
                return False
        return None if timed else True

    def looks_on(self, program: Any, state: State) -> bool:
        """Whether there was no way round since without a look at memory."""
        passed = self.passed(program, state)
        left = {pc for pc in passed if pc + program.blocks[pc].count not in state.looks}
        ways = {pc: left.intersection(program.successors[pc]) for pc in left}
        try:
            graphlib.TopologicalSorter(ways).prepare()
        except graphlib.CycleError:
            return False
        return len(left) < len(passed)


@functools.lru_cache(maxsize=64)
def deciding(program: Any, places: frozenset[int]) -> tuple[list[int], bool]:
    """Of threads that stay in these basic blocks: the slots of the registers that decide what they
    do, but for those that depend on a clock, and whether there are any of these.

    The carry flag, which PTX means for straight-line code, is not among them."""
    sources: Any = defaultdict(set)
    results: Any = defaultdict(set)  # the other way round
    needed: list[Any] = []
    for block in map(program.blocks.get, places):
        for i in block.instructions:
            read = {("" if name in CLOCKS else block.function, name) for name in isa.read(i)}
            if isa.lookup(i).kind in PLAIN and not isa.lookup(i).memory:
                for name in isa.written(i):
                    sources[block.function, name].update(read)
                    for each in read:
                        results[each].add((block.function, name))
            elif isa.name(i) not in IDLE:
                needed += read
    deciders = flow.reached(needed, sources)
    timed = {("", name) for name in CLOCKS} & deciders
    told = flow.reached(timed, results)
    table = program.slots.table
    return [table[x][0] for x in deciders - told if x in table], bool(timed)


def equal(a: Mask, b: Mask) -> bool:
    """Bit for bit: a NaN equals itself."""
    if a is b:
        return True
    if a is None or b is None or (a.shape, a.itemsize) != (b.shape, b.itemsize):
        return False
    unsigned = f"u{a.itemsize}"
    return bool((a.view(unsigned) == b.view(unsigned)).all())


# -- in words ---------------------------------------------------------------------------------


def looking(program: Any, state: State, more: str, timed: bool = False) -> Stuck:
    """Of threads that look at memory: what they wait for, `more` to say of it, and what others of
    the block do. An mbarrier says most."""
    i, mask, say = max(state.looks.values(), key=lambda look: "mbarrier" in look[0].opcode)
    mask = mask & state.alive
    b = int(np.argwhere(mask)[0][0])
    message = f"{say(int(mask[b].sum()))}: {more}{others(program, state, b, mask[b])}"
    return Stuck(message, i, state.first_thread(mask), timed)


def others(program: Any, state: State, b: int, mask: Array) -> str:
    """What those threads of a block (of the chunk) do that are not in the mask (T,)."""
    left = ~mask & state.alive[b]
    said: dict[str, int] = {}
    for there, i in standing(program, state):
        here = there[b] & left
        if here.any():
            text = f"at {where(i)}"
            said[text] = said.get(text, 0) + int(here.sum())
            left = left & ~here
    gone = int((~state.alive[b]).sum())
    parts = [f"{count} wait{'s' * (count == 1)} {text}" for text, count in said.items()]
    parts += [f"{gone} {'has' if gone == 1 else 'have'} exited"] * (gone > 0)
    return f"; of the block's other threads {', '.join(parts)}" if parts else ""


def standing(program: Any, state: State) -> Iterator[tuple[Array, Instruction]]:
    """The threads (B, T) that wait for others or go round, and at which instruction."""
    for mask, i, _ in state.gathering.values():
        yield mask, i
    for groups in state.waiting.values():
        yield from ((mask, i) for mask, i, *_ in groups.values())
    yield from state.meeting.waiting.values()
    yield from ((mask, i) for i, mask, _ in state.looks.values())
    for place, some in state.ready.items():
        if block := program.blocks[place % state.size].instructions:
            yield state.full(some), block[-1]


def where(i: Instruction) -> str:
    """Where an instruction stands, in a few words."""
    named = i.position is not None and i.position.file != "PTX"
    return f"{i.position if named else f'PTX line {i.line}'} ({'.'.join((i.opcode, *i.modifiers))})"


def of_grid(states: Sequence[State], begun: int, total: int) -> str:
    """How many of the grid's blocks wait, have exited and have not begun."""
    if total == 1:
        return ""
    waiting = {int(n) for state in states for n in state.blocks[state.alive.any(1)]}
    gone = begun - len(waiting)
    parts = [f"{len(waiting)} of the grid's {total} blocks wait{'s' * (len(waiting) == 1)}"]
    if len(waiting) == total:
        return f"; all {total} blocks of the grid wait"
    if gone:
        parts.append(f"{gone} {'has' if gone == 1 else 'have'} exited")
        if begun == total:
            first = next(n for n in range(total) if n not in waiting)
            parts[-1] += f", {'' if gone == 1 else 'such as '}"
            parts[-1] += thread_name(first, 0, states[0].grid, states[0].block).rsplit(", th")[0]
    if begun < total:
        parts.append(f"{total - begun} have not begun and have no room on a GPU")
    return f"; {', '.join(parts)}"


def check_nobody_waits(program: Any, state: State) -> None:
    """Raise a Deadlock for threads that are left when no thread can run."""
    left = [*state.gathering.values(), *clusters.unfinished(state)]
    for number, groups in state.waiting.items():
        never = f"barrier {number} is never completed: {{}} threads of the block wait, "
        never += "{} have not exited"
        left += [(mask, i, never) for mask, i, *_ in groups.values()]
    for waiting, instruction, reason in left:
        b = int(np.argwhere(waiting)[0][0])
        reason = reason.format(int(waiting[b].sum()), int(state.alive[b].sum()))
        message = reason + others(program, state, b, waiting[b])
        raise Deadlock(message, instruction=instruction, thread=state.first_thread(waiting))
