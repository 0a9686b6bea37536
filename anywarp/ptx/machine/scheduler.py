"""Who runs next, and when to give up.

Within a chunk of blocks, places run in an order in which each comes after all that lead to it
(`flow.turns`; mostly that of the code), so that paths meet again where they join, as on hardware.
Two things make it the next place's turn instead, all of them in a circle: threads that look at
memory again and again without anything having changed, as one that waits for a lock or a flag;
and a chunk in which nothing has changed for long.

A chunk that only looks at memory makes way for the next chunk of the grid, as long as a GPU would
have room for both, and later for the others that wait.

An endless loop shows in one of four ways. No way leads from where threads are to the end of the
kernel. The chunk is back where it was, its registers and its memory the same. A place has been
passed `step_limit` times. Or all threads wait, and no chunk is left that could help them. None of
these counts the instructions of a run, which may be as long as it needs.
"""

from __future__ import annotations

import functools
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ..aliases import Mask
from ..errors import Deadlock, Endless, StepLimit
from ..memory import clusters
from ..memory.events import Executed
from .control import exit_threads
from .state import State

STEP_LIMIT = 1 << 20  # turns of one basic block: more than a loop of a million
FAIR_TURNS = 64  # how long places take turns after somebody was impatient
QUIET = 256  # turns without change after which a waiting chunk makes way for another
STILL = 4096  # and after which the scheduler looks whether the chunk repeats itself
IN_VAIN = 1024  # the same where threads have looked at memory again and again
SELDOM = 1024  # turns between looks at what is seldom
CAREFUL = 32768  # turns after which a store must change something to count
RESIDENT = 132 * 2048  # threads that a GPU runs at once


def run_chunks(
    program: Any,
    begin: Any,
    total: int,
    per_chunk: int,
    threads: int,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Run the States that `begin(first, end)` makes of a range of blocks, one after another as
    far as they let it be.

    total: blocks of the grid. per_chunk: blocks of a State. threads: of a block."""
    waiting: deque[State] = deque()
    room = -(-RESIDENT // (per_chunk * threads))  # so that a cooperative grid has it, too
    fruitless = 0  # chunks in a row that could only wait
    begun = finished = 0  # blocks
    report = Report(progress, total)
    ends = [(pc, block.steps) for pc, block in program.blocks.items() if block.end is exit_threads]
    leaving = tuple(pc for pc, before in ends if not before)
    while waiting or begun < total:
        if begun < total and fruitless >= len(waiting) and len(waiting) < room:
            end = min(begun + per_chunk, total)
            state, begun = begin(begun, end), end
            state.leaving = leaving
        else:
            state = waiting.popleft()
        alone = fruitless > len(waiting) and (begun == total or len(waiting) + 1 >= room)
        state.unstarted = begun < total
        turns = Turns(program, state, alone, functools.partial(report, finished, state))
        if turns.run():
            finished += len(state.blocks)
            fruitless = 0
            state.launch.printer.flush()
            report(finished)
        else:
            waiting.append(state)
            fruitless = 1 if turns.progressed else fruitless + 1
    report(finished, last=True)


class Report:
    """Tells `progress(done, total)` in blocks, at most ten times a second and at the end."""

    def __init__(self, progress: Callable[[int, int], None] | None, total: int) -> None:
        self.progress, self.total, self.at = progress, total, time.monotonic()

    def __call__(self, done: int, state: State | None = None, last: bool = False) -> None:
        now = time.monotonic()
        if self.progress is None or (now - self.at < 0.1 and not last):
            return
        self.at = now
        if state is not None:
            done += int((~state.alive.any(1)).sum())
        self.progress(done, self.total)


class Turns:
    """The turns of a chunk, from when it comes on to when it is done or makes way."""

    def __init__(self, program: Any, state: State, alone: bool, report: Any) -> None:
        self.program, self.state, self.alone, self.report = program, state, alone, report
        self.progressed = False  # memory has changed
        self.began = time.monotonic()
        self.snapshot: Snapshot | None = None

    def run(self) -> bool:
        """The loop. True when the chunk is done, False when it waits for another."""
        state, blocks, size = self.state, self.program.blocks, self.program.size
        ready, visits, limit = state.ready, state.visits, state.launch.step_limit
        turn_of = self.program.turn
        state.earlier = state.launch.steps - state.steps
        turn = quiet = fair_until = last = 0
        still = STILL
        while ready:
            turn += 1
            if len(ready) == 1:
                place, mask = ready.popitem()
            else:
                place = next_place(ready, last) if turn < fair_until else min(ready, key=turn_of)
                mask = ready.pop(place)
            pc = place if place >= 0 else place % size
            state.base = place - pc
            block = blocks[pc]
            visits[pc] = n = visits[pc] + 1
            if n > limit:
                self.give_up(block, mask, n)
            if state.sink is not None:
                state.sink(
                    Executed(block.instructions, state.blocks, state.shape[1], mask, state.steps)
                )
            state.steps += block.count
            for step in block.steps:
                step(state, mask)
            block.end(state, mask)
            last, quiet = place, quiet + 1
            if state.changed:
                state.changed, self.progressed, quiet, still = False, True, 0, STILL
                if state.polls:
                    state.forget_looks()
            elif state.impatient:
                state.impatient, fair_until, still = False, turn + FAIR_TURNS, IN_VAIN
                if quiet >= QUIET and not (self.alone and not self.progressed):
                    break
            if turn % SELDOM == 0:
                fair_until = max(fair_until, turn + 2)
                self.seldom(turn, quiet)
            if quiet >= still:
                fair_until = turn + FAIR_TURNS
                self.look_back(quiet, last, block, mask)
        state.launch.steps = state.earlier + state.steps
        if not ready:
            check_nobody_waits(state)
        return not ready

    def seldom(self, turn: int, quiet: int) -> None:
        state = self.state
        self.report()
        state.careful = state.careful or turn >= CAREFUL
        for place, mask in state.ready.items():
            if turn >= SELDOM and place % state.size in self.program.endless:
                block = self.program.blocks[place % state.size]
                raise StepLimit(
                    "no way leads from here to the end of the kernel: an endless loop",
                    instruction=block.instructions[0],
                    thread=state.first_thread(mask),
                )

    def look_back(self, quiet: int, last: int, block: Any, mask: Mask) -> None:
        """Raise if all is as it was some turns ago: then it will be so for ever."""
        state, old = self.state, self.snapshot
        if old is not None and quiet > old.quiet and old.same(state, last):
            state.launch.printer.flush()
            blocks = " (blocks of the grid that have not begun have no room: a GPU runs about "
            more = blocks + f"{RESIDENT} threads at once)" if state.unstarted else ""
            for stuck in state.missed.values():
                raise stuck()
            if state.impatient or state.polls:
                message = (
                    "the threads wait for a change of memory that nobody is left to make" + more
                )
            else:
                message = "the threads go round in a loop in which nothing changes"
            raise Endless(
                message + ": an endless loop",
                instruction=block.instructions[-1],
                thread=state.first_thread(mask),
            )
        if old is None or quiet < old.quiet or quiet >= old.until:
            self.snapshot = Snapshot(state, last, quiet)

    def give_up(self, block: Any, mask: Mask, count: int) -> None:
        state = self.state
        state.launch.printer.flush()
        seconds = time.monotonic() - self.began
        raise StepLimit(
            f"still running after {count - 1:,} passes of this place, the step limit, and "
            f"{seconds:.0f} s: an endless loop? (step_limit={8 * (count - 1)} allows eight "
            f"times as many, in about {8 * seconds:.0f} s)",
            instruction=block.instructions[-1] if block.instructions else None,
            thread=state.first_thread(mask),
        )


class Snapshot:
    """A chunk at one moment. Registers are replaced, never written to, so that keeping them
    costs nothing."""

    def __init__(self, state: State, last: int, quiet: int) -> None:
        self.registers, self.ready = list(state.registers), dict(state.ready)
        self.last, self.quiet, self.until = last, quiet, 2 * quiet
        self.differs = 0

    def same(self, state: State, last: int) -> bool:
        if last != self.last or state.ready.keys() != self.ready.keys():
            return False
        if not all(equal(state.ready[place], mask) for place, mask in self.ready.items()):
            return False
        n = self.differs  # what was different the last time is likely to be so again
        if not equal(self.registers[n], state.registers[n]):
            return False
        for n, register in enumerate(self.registers):
            if not equal(register, state.registers[n]):
                self.differs = n
                return False
        return True


def equal(a: Mask, b: Mask) -> bool:
    """Bit for bit: a NaN equals itself."""
    if a is b:
        return True
    if a is None or b is None or (a.shape, a.itemsize) != (b.shape, b.itemsize):
        return False
    unsigned = f"u{a.itemsize}"
    return bool((a.view(unsigned) == b.view(unsigned)).all())


def next_place(ready: Any, last: int) -> int:
    """The one after the last in a circle."""
    return min((place for place in ready if place > last), default=min(ready))


def check_nobody_waits(state: State) -> None:
    """Raise a Deadlock for threads that are left when no thread can run."""
    for waiting, instruction, reason in (*state.gathering.values(), *clusters.unfinished(state)):
        raise Deadlock(reason, instruction=instruction, thread=state.first_thread(waiting))
    for number, groups in state.waiting.items():
        for mask, instruction, *_ in groups.values():
            b = int(np.argwhere(mask)[0][0])
            raise Deadlock(
                f"barrier {number} is never completed: {int(mask[b].sum())} threads of the block "
                f"wait, {int(state.alive[b].sum())} have not exited",
                instruction=instruction,
                thread=state.first_thread(mask),
            )
