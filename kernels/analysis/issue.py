"""Warps that share the scheduler of a quarter of an SM: a model of who issues when.

What goes in is a loop's machine code. Each instruction tells how many cycles its warp is to pause
after it, and for whose results to wait before it: `anywarp.sass.encoding.Control`. A scheduler
issues one instruction a cycle, and none while an FMA still gets its operands. It stays with a warp
until that one has to pause or to wait. Then it takes the first that can go on, in an order that
does not change; but those that had to wait for a result come after all others, until LATER cycles
after they last issued, the one that has issued nothing for longest first. So `benchmarks.scheduler`
found it on an H100; `tests/test_scheduler.py` holds the model's times to those, within 3 %. It
misses code all of whose instructions have the hint 0: there, warps take turns. Which order a
barrier leaves is open; that of the warps' numbers is assumed, and the first block before the next.

Accesses go through the data pipe of the SM one after the other; the other quarters are taken to do
what this one does. A barrier waits for all warps of the block. The rest is left out: what a queue
holds, asynchronous copies, branches, instructions that the cache has not got.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

from anywarp.sass import Instruction, collected

LOAD, SHARED_LOAD, STORE, BARRIER = "LDG", "LDS", "STS", "BAR"
SHARED = 22  # cycles from the data pipe until a value that shared memory has can be used
LATER = 75
Pipe = Mapping[str, tuple[float, int]]  # by name: cycles in the data pipe, and then until a value


class Warp(NamedTuple):
    """What one warp did: the cycle of each instruction, pass after pass, and its waits."""

    block: int
    cycles: list[int]
    waits: list[tuple[int, float, str]]  # first cycle, end, LOAD or BARRIER


def issue(
    loop: Sequence[Instruction], pipe: Pipe, warps: int, blocks: int, passes: int
) -> tuple[Warp, ...]:
    """`warps` of each of `blocks` go through a loop `passes` times. In order of blocks."""
    ends = collected(loop)
    stream = [*zip(loop, (b - a for a, b in zip([0, *ends], ends)))] * passes
    found = [Warp(block, [], []) for block in range(blocks) for _ in range(warps)]
    ready = [0.0] * len(found)  # when each can go on
    behind = [0] * len(found)  # until when each comes after those that did not wait
    boards = [[(0.0, "")] * 8 for _ in found]  # when each scoreboard is free, and what it is for
    cycle, last, free = 0, 0, 0.0
    while any(len(warp.cycles) < len(stream) for warp in found):
        able = []
        for n, (_, cycles, waits) in enumerate(found):
            if len(cycles) == len(stream) or ready[n] > cycle:
                continue
            wait = stream[len(cycles)][0].control.wait
            end, what = max((b for k, b in enumerate(boards[n]) if wait >> k & 1), default=(0, ""))
            if end <= cycle:
                able.append(n)
            else:
                ready[n], behind[n] = end, cycles[-1] + LATER
                waits += [(cycle, end, LOAD)] * (what == LOAD)
        if not able:
            cycle += 1
            continue
        last = min(able, key=lambda n: (n != last, found[n].cycles[-1:] * (cycle < behind[n]), n))
        block, cycles, _ = found[last]
        i, busy = stream[len(cycles)]
        cycles.append(cycle)
        ready[last] = cycle + max(i.control.stall, 2 - i.control.stay)
        through, after = pipe.get(i.name, (0, 0))
        free = max(free, cycle) + through
        back = free + after if after else cycle, i.name
        boards[last][i.control.write] = max(boards[last][i.control.write], back)
        if i.name == BARRIER:
            ready[last] = inf
            mates = range(block * warps, (block + 1) * warps)
            if all(ready[n] == inf for n in mates):
                for n in mates:
                    ready[n] = cycle + i.control.stall
                    found[n].waits.append((found[n].cycles[-1] + 1, cycle + 1, BARRIER))
        cycle += busy
    return tuple(found)
