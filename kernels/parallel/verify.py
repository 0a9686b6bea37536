"""Whether a schedule computes the product: every fault that a list of rounds can have, in words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .schedule import HOST, Block, LocalProduct, Range, Schedule
from .slots import at_home

Has = Callable[[int, Block], bool]  # whether a rank has a block


class ScheduleError(ValueError):
    """A schedule that does not compute the product; the message says where."""


def verify(schedule: Schedule, scales: bool = False) -> None:
    """Raise ScheduleError unless the schedule computes C = A B, or A B + beta C if it `scales`.

    Each rank may use only what it has at home or has received in an earlier round, a rank receives
    a block from one sender at a time, every element of C gets every k exactly once, and C is at
    home in the end.
    """
    _homes(schedule)
    held = _follow(schedule, scales)
    computed = _sums(schedule)
    for c, rank in computed.items():
        if at_home(schedule, rank, c):
            continue
        home = next(r for r, parts in schedule.homes.items() if parts[2].holds(c))
        if (home, c) not in held:
            raise ScheduleError(
                f"{c} is computed by {_name(rank)} and never sent home, to {_name(home)}"
            )


def _name(rank: int) -> str:
    """A rank in words."""
    return "the host" if rank == HOST else f"rank {rank}"


def _homes(schedule: Schedule) -> None:
    """Raise unless every element of each matrix is at home once."""
    M, N, K = schedule.shape
    whole = Block("A", (0, M), (0, K)), Block("B", (0, K), (0, N)), Block("C", (0, M), (0, N))
    for matrix in whole:
        _tiles(list(schedule.parts(matrix.matrix)), matrix, "at home")


def _tiles(blocks: list[Block], whole: Block, what: str) -> None:
    """Raise unless the blocks are the whole, each element once."""
    blocks = [block for block in blocks if block.size]
    for block in blocks:
        if not whole.holds(block):
            raise ScheduleError(f"{block} is {what}, and the matrix is {whole}")
    tops, bottoms = np.array([block.rows for block in (whole, *blocks)]).T
    lefts, rights = np.array([block.columns for block in (whole, *blocks)]).T
    rows, columns = np.union1d(tops, bottoms), np.union1d(lefts, rights)
    times = np.zeros((len(rows), len(columns)), int)  # of the areas between the edges
    for down, across, sign in (
        (tops, lefts, 1), (bottoms, rights, 1), (tops, rights, -1), (bottoms, lefts, -1)
    ):  # fmt: skip
        corners = np.searchsorted(rows, down[1:]), np.searchsorted(columns, across[1:])
        np.add.at(times, corners, sign)
    times = times.cumsum(0).cumsum(1)[:-1, :-1]
    for i, j in np.argwhere(times != 1):
        area = Block(whole.matrix, (rows[i], rows[i + 1]), (columns[j], columns[j + 1]))
        raise ScheduleError(f"{area} is {what} {'twice' if times[i, j] else 'nowhere'}")


def _follow(schedule: Schedule, scales: bool) -> set[tuple[int, Block]]:
    """Go through the rounds with what each rank has; returns all that was received."""
    held: set[tuple[int, Block]] = set()
    begun: dict[tuple[int, Block], LocalProduct] = {}  # blocks of C with the product before

    def has(rank: int, block: Block) -> bool:
        if block.matrix == "C":  # which is at home only once it has been computed
            return (rank, block) in begun or (rank, block) in held or _given(schedule, rank, block)
        return (rank, block) in held or at_home(schedule, rank, block)

    for number, now in enumerate(schedule.rounds):
        arriving: set[tuple[int, Block]] = set()
        computing: dict[tuple[int, Block], LocalProduct] = {}
        for block, source, targets in now.transfers:
            for rank in (source, *targets):
                _require_rank(schedule, rank, number)
            if not has(source, block):
                raise _fault(number, source, f"sends {block}, which it does not have")
            for target in targets:
                if (target, block) in arriving or target == source:
                    raise _fault(number, target, f"receives {block} twice, or from itself")
                arriving.add((target, block))
        for product in now.products:
            _product(schedule, product, number, has)
            rank, c, first = product.rank, product.c, product.first
            if first == ((rank, c) in begun or (rank, c) in computing):
                raise _fault(number, rank, f"computes {c}, and `first` is {first}")
            if scales and first and (rank, c) not in held and not at_home(schedule, rank, c):
                raise _fault(number, rank, f"scales {c}, which it has not been sent")
            computing[rank, c] = product
        for block, source, _ in now.transfers:
            if (source, block) in computing:
                raise _fault(number, source, f"sends {block} while it computes it")
        held |= arriving
        begun |= computing
    return held


def _fault(number: int, rank: int, words: str) -> ScheduleError:
    """What a rank does wrong in a round."""
    return ScheduleError(f"round {number}: {_name(rank)} {words}")


def _given(schedule: Schedule, rank: int, block: Block) -> bool:
    """Whether this is part of the C that the caller may have given, on the host."""
    return rank == HOST and at_home(schedule, rank, block)


def _require_rank(schedule: Schedule, rank: int, number: int) -> None:
    """Raise for a rank that there is not."""
    if rank not in range(schedule.ranks) and rank not in schedule.homes:
        raise ScheduleError(f"round {number}: there is no rank {rank}")


def _product(schedule: Schedule, product: LocalProduct, number: int, has: Has) -> None:
    """Raise unless a rank can multiply these blocks in this round."""
    rank, a, b, c, _ = product
    _require_rank(schedule, rank, number)
    if rank == HOST:
        raise _fault(number, rank, "multiplies, which it cannot")
    for block in (a, b):
        if not has(rank, block):
            raise _fault(number, rank, f"multiplies with {block}, which it does not have")
    if (a.matrix, b.matrix, c.matrix) != ("A", "B", "C"):
        raise _fault(number, rank, f"multiplies {a} and {b} into {c}")
    if a.columns != b.rows or c.rows != a.rows or c.columns != b.columns:
        raise _fault(number, rank, f"multiplies {a} and {b}, which do not give {c}")


def _sums(schedule: Schedule) -> dict[Block, int]:
    """The rank that computes each block of C. Raises ScheduleError unless every element of C is in
    one block, and that block gets every k once, on one rank."""
    M, N, K = schedule.shape
    inner: dict[Block, list[Range]] = {}
    ranks: dict[Block, int] = {}
    for now in schedule.rounds:
        for product in now.products:
            inner.setdefault(product.c, []).append(product.a.columns)
            if ranks.setdefault(product.c, product.rank) != product.rank:
                both = f"{_name(ranks[product.c])} and {_name(product.rank)}"
                raise ScheduleError(f"{product.c} is computed by {both}, and nobody adds them up")
    _tiles(list(inner), Block("C", (0, M), (0, N)), "computed")
    for c, ranges in inner.items():
        at = 0
        for start, end in sorted(ranges):
            if start != at:
                twice = "twice" if start < at else "never"
                low, high = sorted((start, at))
                raise ScheduleError(f"{c} gets the products of k from {low} to {high} {twice}")
            at = end
        if at != K and c.size:
            raise ScheduleError(f"{c} gets the products of k from {at} to {K} never")
    return ranks
