"""Who runs next, and when to give up.

Within a chunk of blocks, places run in an order in which each comes after all that lead to it
(`flow.turns`; mostly that of the code), so that paths meet again where they join, as on hardware.
Two things make it the next place's turn instead, all of them in a circle: threads that look at
memory again and again without anything having changed, as one that waits for a lock or a flag;
and a chunk in which nothing has changed for long.

A chunk that only looks at memory makes way for the next chunk of the grid, as long as a GPU would
have room for both, and later for the others that wait.

An endless loop shows in one of five ways. No way leads from where threads are to the end of the
kernel. The chunk is back where it was (see `deadlock`). Threads have done nothing but look at
memory for `VAIN` of the step limit, and count. A place has been passed `step_limit` times.
Or all threads wait at barriers. None of these counts the instructions of a run, which may be as
long as it needs.

Where memory is looked at, all chunks of the grid have to be back where they were, since one may
help another; and where a clock tells how long, clocks go on by `JUMPS` first.
"""

from __future__ import annotations

import functools
import time
from collections import deque
from typing import Any

from ..aliases import Mask, Progress
from ..errors import StepLimit
from ..memory.events import Executed
from .control import exit_threads
from .deadlock import Snapshot, Stuck, check_nobody_waits, looking, of_grid
from .state import State

STEP_LIMIT = 1 << 20  # turns of one basic block: more than a loop of a million
FAIR_TURNS = 64  # how long places take turns after somebody was impatient
QUIET = 256  # turns without change after which a waiting chunk makes way for another
STILL = 4096  # and after which the scheduler looks whether the chunk repeats itself
IN_VAIN = 128  # the same where threads have looked at memory again and again
# ticks by which clocks go on while nothing else can happen: an hour in all, and times of each size
# below, as 32 bits count them too
JUMPS = (1 << 20, 1 << 26, 1 << 30, (1 << 30) - (1 << 27), 1 << 31, 1 << 36, 1 << 42)
ROUNDS = 128  # of such jumps before something else changes than where threads look
VAIN = 10  # of the step limit, this part of instructions is enough that only look at memory
OFTEN = 16  # turns between reports of how it gets on
SELDOM = 1024  # turns between looks at what is seldom
CAREFUL = 32768  # turns after which a store must change something to count
RESIDENT = 132 * 2048  # threads that a GPU runs at once


def run_chunks(
    program: Any, begin: Any, total: int, per_chunk: int, threads: int, progress: Progress
) -> None:
    """Run the States that `begin(first, end)` makes of a range of blocks, one after another as
    far as they let it be.

    total: blocks of the grid. per_chunk: blocks of a State. threads: of a block."""
    waiting: deque[State] = deque()
    room = -(-RESIDENT // (per_chunk * threads))  # so that a cooperative grid has it, too
    fruitless = 0  # chunks in a row that could only wait
    stuck: list[Stuck] = []  # of the last chunks, in a row
    jumps, rounds = list(JUMPS), 0
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
        turns = Turns(program, state, alone, functools.partial(report, finished, state))
        done = turns.run()
        if done or turns.progressed:
            fruitless, stuck, rounds = 0, [], 0
            for other in waiting:
                other.stuck_after = None
        if done:
            finished += len(state.blocks)
            state.launch.printer.flush()
            report(finished)
        else:
            waiting.append(state)
            fruitless += 1
            stuck = [*stuck, turns.stuck] if turns.stuck is not None else []
            if not turns.unmoved:
                jumps = list(JUMPS)
            if len(stuck) >= len(waiting) and (begun == total or len(waiting) >= room):
                state.launch.printer.flush()
                if not (any(each.timed for each in stuck) and jumps and rounds < ROUNDS):
                    raise stuck[0].error(more=of_grid(waiting, begun, total))
                state.launch.steps += jumps.pop(0)
                stuck, rounds = [], rounds + 1
    report(finished, last=True)


class Report:
    """Tells `progress(done, total, note)` in blocks, at most ten times a second and at the end; the
    note counts instructions, which go on where one block takes long."""

    EVERY = 0.1  # seconds

    def __init__(self, progress: Progress, total: int) -> None:
        self.progress, self.total, self.at = progress, total, time.monotonic()
        self.note = ""

    def __call__(self, done: int, state: State | None = None, last: bool = False) -> None:
        now = time.monotonic()
        if self.progress is None or (now - self.at < self.EVERY and not last):
            return
        self.at = now
        if state is not None:
            done += int((~state.alive.any(1)).sum())
            self.note = f"{state.earlier + state.steps:,} instructions"
        self.progress(done, self.total, self.note)


class Turns:
    """The turns of a chunk, from when it comes on to when it is done or makes way."""

    def __init__(self, program: Any, state: State, alone: bool, report: Any) -> None:
        self.program, self.state, self.alone, self.report = program, state, alone, report
        self.progressed = False  # memory has changed
        self.began = time.monotonic()
        self.snapshot: Snapshot | None = None
        self.stuck: Stuck | None = None
        self.since = state.steps  # instructions run when memory last changed
        self.unmoved = False  # it is where it was stuck the last time, too

    def run(self) -> bool:
        """The loop. True when the chunk is done, False when it waits for another."""
        state, blocks, size = self.state, self.program.blocks, self.program.size
        ready, visits, limit = state.ready, state.visits, state.launch.step_limit
        turn_of = self.program.turn
        state.earlier = state.launch.steps - state.steps
        turn = quiet = fair_until = last = 0
        still = STILL
        if state.stuck_after is not None:  # is it still? then it is soon back here
            last, fair_until, still = state.stuck_after, FAIR_TURNS, 0
            self.snapshot = Snapshot(state, last, 0, IN_VAIN)
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
                about = block.instructions, state.blocks, state.shape[1]
                state.sink(Executed(*about, mask, state.steps))
            state.steps += block.count
            for step in block.steps:
                step(state, mask)
            block.end(state, mask)
            last, quiet = place, quiet + 1
            if state.changed:
                state.changed, self.progressed, quiet, still = False, True, 0, STILL
                self.snapshot, self.since = None, state.steps
                if state.looks:
                    state.forget_looks()
            elif state.impatient:
                state.impatient, fair_until, still = False, turn + FAIR_TURNS, IN_VAIN
                if quiet >= QUIET and not (self.alone and not self.progressed):
                    break
            if turn % OFTEN == 0:
                self.report()
            if turn % SELDOM == 0:
                fair_until = max(fair_until, turn + 2)
                self.seldom(turn, quiet)
            if quiet >= still:
                fair_until = turn + FAIR_TURNS
                self.look_back(quiet, last, block, mask)
                if self.stuck is not None:
                    state.stuck_after = last
                    break
        state.launch.steps = state.earlier + state.steps
        if not ready:
            check_nobody_waits(self.program, state)
        return not ready

    def seldom(self, turn: int, quiet: int) -> None:
        state = self.state
        state.careful = state.careful or turn >= CAREFUL
        for place, mask in state.ready.items():
            if turn >= SELDOM and place % state.size in self.program.endless:
                block = self.program.blocks[place % state.size]
                what = "no way leads from here to the end of the kernel: an endless loop"
                about = block.instructions[0], state.first_thread(mask)
                raise Stuck(what, *about).error(StepLimit)

    def look_back(self, quiet: int, last: int, block: Any, mask: Mask) -> None:
        """Be stuck if all is as it was some turns ago: then it will be so until another chunk
        changes memory, or a clock has gone on."""
        state, old, program = self.state, self.snapshot, self.program
        limit = state.launch.step_limit
        again = old.again(program, state, last) if old is not None else False
        if again is not False and not state.looks:
            message = "the threads go round in a loop in which nothing changes: an endless loop"
            about = block.instructions[-1], state.first_thread(mask)
            self.stuck = Stuck(message, *about, again is None)
            if again:  # nor would a change of memory or of the time help
                raise self.stuck.error()
        elif again is not False:
            self.stuck = looking(program, state, "an endless loop", again is None)
        elif self.alone and quiet % FAIR_TURNS == 0:
            vain = state.steps - self.since
            if vain * VAIN >= limit and old is not None and old.looks_on(program, state):
                more = f"an endless loop? step_limit={8 * limit} allows eight times the "
                more += f"{vain:,} instructions in which nothing changed"
                raise looking(program, state, more).error(StepLimit)
        self.unmoved = self.stuck is not None and old is not None and old.quiet == 0
        if old is None or quiet >= old.until:
            self.snapshot = Snapshot(state, last, quiet, 2 * quiet)

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


def next_place(ready: Any, last: int) -> int:
    """The one after the last in a circle."""
    return min((place for place in ready if place > last), default=min(ready))
