"""Warps that share the scheduler of a quarter of an SM: a small model of who issues when.

What goes in is the machine code of a loop in its order. The rules are four. A scheduler issues one
instruction a cycle. It stays with a warp until that one has to wait, then takes, of those that
need not, the one that has issued nothing for longest. A store to shared memory waits until the
warp's loads from global memory are back, `latency` cycles after they were issued. A barrier waits
for all warps of the block; the other quarters are taken to do what this one does. Nothing else
waits: not the data pipe, not an FMA for its operands, not an instruction for the cache. So the
model shows in which order things happen and what can hide what, and takes less time than the
hardware.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LOAD, STORE, BARRIER = "global load", "shared store", "barrier"


class Warp(NamedTuple):
    """What one warp did: the cycle of each instruction, pass after pass, and its waits."""

    block: int
    cycles: list[int]
    waits: list[tuple[int, int, str]]  # first cycle, end, LOAD or BARRIER


def issue(
    loop: Sequence[str], warps: int, blocks: int, latency: int, passes: int
) -> tuple[Warp, ...]:
    """`warps` of each of `blocks` go through a loop `passes` times. In order of blocks."""
    stream = [*loop] * passes
    found = [Warp(block, [], []) for block in range(blocks) for _ in range(warps)]
    back = [0] * len(found)  # when the loads of each are back
    arrived: dict[int, list[int]] = {block: [] for block in range(blocks)}
    waiting: dict[int, tuple[int, str]] = {}  # since when, and for what
    cycle, last = 0, 0
    while any(len(warp.cycles) < len(stream) for warp in found):
        chosen = None
        for n in sorted(range(len(found)), key=lambda n: (n != last, found[n].cycles[-1:])):
            at = len(found[n].cycles)
            if at == len(stream) or waiting.get(n, (0, ""))[1] == BARRIER:
                continue
            if stream[at] == STORE and back[n] > cycle:
                waiting.setdefault(n, (cycle, LOAD))
                continue
            chosen = n
            break
        if chosen is not None:
            warp, kind = found[chosen], stream[len(found[chosen].cycles)]
            if chosen in waiting:
                warp.waits.append((waiting[chosen][0], back[chosen], waiting.pop(chosen)[1]))
            warp.cycles.append(cycle)
            last = chosen
            if kind == LOAD:
                back[chosen] = cycle + latency
            elif kind == BARRIER:
                waiting[chosen] = (cycle + 1, BARRIER)
                arrived[warp.block].append(chosen)
                if len(arrived[warp.block]) == warps:
                    for n in arrived[warp.block]:
                        since, _ = waiting.pop(n)
                        if since <= cycle:
                            found[n].waits.append((since, cycle + 1, BARRIER))
                    arrived[warp.block] = []
        cycle += 1
    return tuple(found)
