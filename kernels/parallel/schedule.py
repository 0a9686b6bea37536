"""Who sends what to whom and who multiplies what, round by round: lists, and nothing runs.

A schedule is data. `multiply` carries it out, on ranks in this process or on GPUs; `model` adds up
what it would take; `verify` proves that it computes the product; `draw` shows it. A rank is what
holds parts of the matrices and multiplies: a GPU, or a place in a list that stands for one.

In a round, all transfers and all products may happen at the same time and in any order. They use
what was there when the round began; what is received in a round can be used from the next one on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

HOST = -1  # the memory of the machine itself, as a rank that multiplies nothing

PIECES = 4  # panels of K for each that a rank has, in the usual SUMMA

Range = tuple[int, int]  # from the first to before the second


class Block(NamedTuple):
    """A part of a matrix, "A", "B" or "C"."""

    matrix: str
    rows: Range
    columns: Range

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows[1] - self.rows[0], self.columns[1] - self.columns[0]

    @property
    def size(self) -> int:
        """Elements."""
        return self.shape[0] * self.shape[1]

    def holds(self, other: Block) -> bool:
        """Whether the other is part of this one."""
        return self.matrix == other.matrix and all(
            mine[0] <= theirs[0] and theirs[1] <= mine[1]
            for mine, theirs in ((self.rows, other.rows), (self.columns, other.columns))
        )

    def __str__(self) -> str:
        (top, bottom), (left, right) = self.rows, self.columns
        return f"{self.matrix}[{top}:{bottom}, {left}:{right}]"


class Transfer(NamedTuple):
    """A block goes from one rank to others."""

    block: Block
    source: int
    targets: tuple[int, ...]


class LocalProduct(NamedTuple):
    """A rank multiplies: c = a b if it is the first product for c, else c = c + a b."""

    rank: int
    a: Block
    b: Block
    c: Block
    first: bool


class Round(NamedTuple):
    """What may happen at the same time."""

    transfers: tuple[Transfer, ...]
    products: tuple[LocalProduct, ...]


@dataclass(frozen=True)
class Schedule:
    """How `ranks` ranks compute C = A B of a shape (M, N, K) together.

    `homes` has, for each rank that has any, its part of A, of B and of C: those of A and B are
    there at the start, those of C at the end.
    """

    name: str
    shape: tuple[int, int, int]
    ranks: int
    homes: dict[int, tuple[Block, Block, Block]]
    rounds: tuple[Round, ...]

    def __post_init__(self) -> None:
        _require_sizes(*self.shape)
        for rank, blocks in self.homes.items():
            if len(blocks) != len("ABC"):
                raise ValueError(f"rank {rank} needs a part of A, B and C each, and has {blocks}")

    def __repr__(self) -> str:
        M, N, K = self.shape
        return f"<Schedule {self.name}, {M} x {N} x {K}, {self.ranks} ranks>"

    def parts(self, matrix: str) -> tuple[Block, ...]:
        """The part of the matrix that each rank has, in the order of the ranks."""
        index = "ABC".index(matrix)
        return tuple(self.homes[rank][index] for rank in sorted(self.homes))


def cut(size: int, parts: int) -> list[Range]:
    """The numbers below `size` in so many ranges, whose lengths differ by one at most. Raises
    ValueError for a size below 0, or no parts."""
    _require_sizes(size)
    _require_ranks(parts)
    return [(n * size // parts, (n + 1) * size // parts) for n in range(parts)]


def _rows_and_columns(M: int, N: int, K: int, ranks: int) -> dict[int, tuple[Block, Block, Block]]:
    """A and C by rows, B by columns."""
    _require_ranks(ranks)
    return {
        rank: (Block("A", rows, (0, K)), Block("B", (0, K), columns), Block("C", rows, (0, N)))
        for rank, (rows, columns) in enumerate(zip(cut(M, ranks), cut(N, ranks)))
    }


def _round(transfers: Iterable[Transfer], products: Iterable[LocalProduct]) -> Round:
    """Without what concerns no element of C: more ranks than rows or columns leave some idle."""

    def outer(block: Block) -> int:
        return block.shape["AB".index(block.matrix)]

    return Round(
        tuple(transfer for transfer in transfers if transfer.targets and outer(transfer.block)),
        tuple(product for product in products if product.c.size),
    )


def _require_sizes(*sizes: int) -> None:
    """Raise ValueError for a size below 0."""
    if min(sizes) < 0:
        raise ValueError(f"a matrix has no {min(sizes)} rows or columns: 0 at least")


def _require_ranks(*numbers: int) -> None:
    """Raise ValueError for numbers of ranks below 1."""
    if min(numbers) < 1:
        raise ValueError(f"{' x '.join(map(str, numbers))} ranks: 1 at least")


def ring(M: int, N: int, K: int, ranks: int) -> Schedule:
    """1-D: each rank has rows of A and C and columns of B, and B goes round in a ring.

    In each round a rank multiplies its rows with the columns that it has at the moment, hands
    those on to the rank before it and gets others from the rank after it. It begins with its own.
    """
    homes = _rows_and_columns(M, N, K, ranks)
    rounds = []
    for step in range(ranks):
        transfers, products = [], []
        for rank, (a, _, c) in homes.items():
            b = homes[(rank + step) % ranks][1]
            products.append(LocalProduct(rank, a, b, Block("C", c.rows, b.columns), True))
            if step < ranks - 1:
                transfers.append(Transfer(b, rank, ((rank - 1) % ranks,)))
        rounds.append(_round(transfers, products))
    return Schedule("ring", (M, N, K), ranks, homes, tuple(rounds))


def gather(M: int, N: int, K: int, ranks: int) -> Schedule:
    """1-D without overlap: every rank first gets all of B, and then multiplies."""
    homes = _rows_and_columns(M, N, K, ranks)
    others = [(a, b) for a in homes for b in homes if a != b]
    transfers = [Transfer(homes[source][1], source, (target,)) for source, target in others]
    products = [
        LocalProduct(rank, a, b, Block("C", a.rows, b.columns), True)
        for rank, (a, _, _) in homes.items()
        for _, b, _ in homes.values()
    ]
    rounds = _round(transfers, []), _round([], products)
    return Schedule("gather", (M, N, K), ranks, homes, rounds[ranks == 1 :])


def summa(M: int, N: int, K: int, grid: tuple[int, int], pieces: int = 1) -> Schedule:
    """2-D, SUMMA: ranks in rows and columns of a grid, each with a block of A, of B and of C.

    K is cut into panels. For each panel, the ranks that have it of A send it along their row of
    the grid, those that have it of B along their column, and every rank adds the product of the
    two to its block of C; meanwhile the next panel is sent. Each range of K that one rank has of
    A and one of B makes `pieces` panels.
    """
    high, wide = grid
    _require_ranks(high, wide)
    if pieces < 1:
        raise ValueError(f"{pieces} pieces: 1 at least")
    rows, columns = cut(M, high), cut(N, wide)
    inner = {"A": cut(K, wide), "B": cut(K, high)}
    homes = {
        i * wide + j: (
            Block("A", rows[i], inner["A"][j]),
            Block("B", inner["B"][i], columns[j]),
            Block("C", rows[i], columns[j]),
        )
        for i in range(high)
        for j in range(wide)
    }
    panels = _panels(K, [*inner["A"], *inner["B"]], pieces)
    rounds = []
    for step in range(len(panels) + 1):
        transfers, products = [], []
        if step < len(panels):
            panel = panels[step]
            i, j = _owner(inner["B"], panel), _owner(inner["A"], panel)
            for row in range(high):
                to = tuple(row * wide + other for other in range(wide) if other != j)
                transfers.append(Transfer(Block("A", rows[row], panel), row * wide + j, to))
            for column in range(wide):
                to = tuple(other * wide + column for other in range(high) if other != i)
                block = Block("B", panel, columns[column])
                transfers.append(Transfer(block, i * wide + column, to))
        if step > 0:
            panel = panels[step - 1]
            for rank, (_, _, c) in homes.items():
                a, b = Block("A", c.rows, panel), Block("B", panel, c.columns)
                products.append(LocalProduct(rank, a, b, c, step == 1))
        rounds.append(_round(transfers, products))
    return Schedule(f"summa {high} x {wide}", (M, N, K), high * wide, homes, tuple(rounds))


def _panels(K: int, ranges: Iterable[Range], pieces: int) -> list[Range]:
    """K cut wherever a range begins, and each part of that into pieces; never into nothing."""
    edges = sorted({0, K, *(edge for both in ranges for edge in both)})
    segments = list(pairwise(edges)) or [(0, 0)]
    panels = []
    for start, end in segments:
        parts = cut(end - start, max(1, min(pieces, end - start)))
        panels += [(start + first, start + last) for first, last in parts]
    return panels


def _owner(ranges: Sequence[Range], panel: Range) -> int:
    """Which of the ranges has the panel."""
    return next(n for n, (start, end) in enumerate(ranges) if start <= panel[0] and panel[1] <= end)


def square(ranks: int) -> tuple[int, int]:
    """The grid of so many ranks that is the nearest to a square."""
    _require_ranks(ranks)
    high = next(n for n in range(int(ranks**0.5), 0, -1) if ranks % n == 0)
    return high, ranks // high


def usual(n: int, ranks: int) -> list[Schedule]:
    """What is measured and compared for square matrices: the ring, SUMMA and gather."""
    grid = summa(n, n, n, square(ranks), PIECES)
    return [ring(n, n, n, ranks), grid, gather(n, n, n, ranks)]
