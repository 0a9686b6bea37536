"""Where a rank keeps what it receives: as few buffers as the rounds allow.

A buffer is taken in the round in which a block arrives, or is first computed by a rank that is not
its home, and is free again in the round after the last one that uses the block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .schedule import Block, Schedule


class Stay(NamedTuple):
    """A block in a buffer of a rank, from the round in which it is written to that of its last
    use."""

    rank: int
    block: Block
    first: int
    last: int


@dataclass(frozen=True)
class Slots:
    """`of` has the number of the buffer for a rank, a block and the round that writes it;
    `sizes` the elements of each buffer of a rank."""

    of: dict[tuple[int, Block, int], int]
    sizes: dict[int, list[int]]


def at_home(schedule: Schedule, rank: int, block: Block) -> bool:
    """Whether the block is part of what the rank has anyway."""
    return any(part.holds(block) for part in schedule.homes.get(rank, ()))


def stays(schedule: Schedule) -> list[Stay]:
    """Every block in every buffer, in the order in which they are written."""
    written: dict[tuple[int, Block], list[int]] = {}
    used: dict[tuple[int, Block], list[int]] = {}
    for number, now in enumerate(schedule.rounds):
        for transfer in now.transfers:
            used.setdefault((transfer.source, transfer.block), []).append(number)
            for target in transfer.targets:
                written.setdefault((target, transfer.block), []).append(number)
        for product in now.products:
            for block in (product.a, product.b, product.c):
                used.setdefault((product.rank, block), []).append(number)
            if product.first and (product.rank, product.c) not in written:
                written[product.rank, product.c] = [number]
    result = []
    for (rank, block), rounds in written.items():
        if at_home(schedule, rank, block):
            continue
        uses = used.get((rank, block), [])
        for first, following in zip(rounds, [*rounds[1:], len(schedule.rounds)]):
            within = [number for number in uses if first <= number <= following]
            result.append(Stay(rank, block, first, max([first, *within])))
    return sorted(result, key=lambda stay: (stay.first, stay.rank, stay.block))


def slots(schedule: Schedule) -> Slots:
    """A buffer for each stay: the first that is free, or a new one."""
    of: dict[tuple[int, Block, int], int] = {}
    sizes: dict[int, list[int]] = {rank: [] for rank in range(schedule.ranks)}
    busy: dict[tuple[int, int], int] = {}  # rank and buffer: the last round of use
    for stay in stays(schedule):
        room = sizes.setdefault(stay.rank, [])
        free = (n for n in range(len(room)) if busy[stay.rank, n] < stay.first)
        number = next(free, len(room))
        if number == len(room):
            room.append(0)
        room[number] = max(room[number], stay.block.size)
        busy[stay.rank, number] = stay.last
        of[stay.rank, stay.block, stay.first] = number
    return Slots(of, sizes)
