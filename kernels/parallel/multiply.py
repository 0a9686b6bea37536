"""Carries out a schedule on whatever holds the parts: ranks in this process, or beside it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from anywarp import gpu
from anywarp.gpu import queues

from ..ladder.choose import sgemm
from ..ladder.product.arguments import require_float32, require_no_mask
from ..ladder.product.layout import require_room
from ..ladder.step import Step, step as step_of
from .schedule import Block, Schedule
from .slots import at_home, slots
from .verify import verify

# c = alpha a b + beta c, on the arrays of one rank
Multiply = Callable[[Any, Any, Any, float, float], None]
Parts = dict[str, dict[int, Any]]  # of each matrix, what the ranks have that are here


class Move(NamedTuple):
    """An array of a rank, and the arrays of others that are to become copies of it; None for the
    array of a rank that is elsewhere."""

    rank: int
    source: Any
    targets: list[tuple[int, Any]]


class Work(NamedTuple):
    """A product of arrays that a rank has: c = alpha a b + beta c."""

    rank: int
    a: Any
    b: Any
    c: Any
    beta: float
    lane: int  # products of different lanes do not depend on one another


class Ranks:
    """Ranks in this process: does a round's copies and then its products, one after the other. By
    the meaning of a round the order makes no difference."""

    def __init__(self, product: Multiply, alpha: float = 1):
        self.product, self.alpha = product, alpha

    def empty(self, rank: int, size: int) -> np.ndarray:
        return np.full(size, np.nan, np.float32)  # NaN: what is used before it is written is seen

    def round(self, moves: Sequence[Move], works: Sequence[Work]) -> None:
        for move in moves:
            for _, target in move.targets:
                target[...] = move.source
        for work in works:
            self.product(work.a, work.b, work.c, self.alpha, work.beta)

    def finish(self) -> None:
        """Everything has been waited for."""


def multiply(
    A_parts: Sequence[Any],
    B_parts: Sequence[Any],
    schedule: Schedule,
    C_parts: Sequence[Any] | None = None,
    alpha: float = 1,
    beta: float = 0,
    step: Step | str | int | Multiply | None = None,
) -> list[Any]:
    """C = alpha A B + beta C, of matrices of which each rank has a part; returns the parts of C.

    A_parts[r], B_parts[r] and C_parts[r] are what rank r has, as `schedule.parts` says: float32
    matrices of NumPy, for ranks in this process. Those of GPUs are processes: `processes.multiply`.

    `step` multiplies on each rank: a step or its label, or anything that is called as
    `kernels.sgemm` is, which it is without on GPUs; elsewhere NumPy multiplies then. As in BLAS,
    what is in C does not count when beta is 0, nor what is in A and B when alpha is 0. Parts of C
    share no memory with any other part.

    Raises ScheduleError for a schedule that does not compute the product, TypeError and ValueError
    for parts that do not fit it.
    """
    alpha, beta = scalars(alpha, beta, "C_parts", C_parts)
    verify(schedule, scales=beta != 0)
    given = {
        name: dict(enumerate(parts))
        for name, parts in zip("ABC", (A_parts, B_parts, C_parts))
        if parts is not None and _blocks(schedule, name, parts)
    }
    if require_parts(schedule, given) != {None}:
        raise TypeError(
            "the parts are on GPUs: start a process for each, which calls "
            "parallel.processes.multiply with its parts"
        )
    execute(schedule, Ranks(product_of(step, False), alpha), given, beta)
    return [given["C"][rank] for rank in range(schedule.ranks)]


def spread(schedule: Schedule, A: Any, B: Any) -> tuple[list[Any], list[Any]]:
    """The parts of NumPy's A and B that the ranks of a schedule have at the start, as copies.

    Raises ValueError for matrices of other shapes than the schedule's.
    """
    M, N, K = schedule.shape
    for name, X, shape in (("A", A, (M, K)), ("B", B, (K, N))):
        if np.shape(X) != shape:
            raise ValueError(
                f"{name} is of shape {np.shape(X)}, and {schedule} needs {shape}: make a schedule "
                "for these matrices"
            )
    A_parts, B_parts = (
        [_part(X, block).copy() for block in schedule.parts(name)]
        for name, X in (("A", A), ("B", B))
    )
    return A_parts, B_parts


def collect(schedule: Schedule, C_parts: Sequence[Any]) -> np.ndarray:
    """C from its parts, as one NumPy array. Raises ValueError for parts that are not all of it."""
    M, N, _ = schedule.shape
    blocks = _blocks(schedule, "C", C_parts)
    for rank, (block, part) in enumerate(zip(blocks, C_parts)):
        _require_shape(f"C_parts[{rank}]", part, rank, block, "pass what parallel.multiply returns")
    C = np.empty((M, N), np.float32)
    for block, part in zip(blocks, C_parts):
        _part(C, block)[...] = gpu.to_host(part) if gpu.is_device_array(part) else part
    return C


def execute(schedule: Schedule, world: Any, parts: Parts, beta: float) -> None:
    """Do all rounds, with the parts of the ranks that are here. Without one of C, it is made.

    `world`, where the ranks live, has three methods. `empty(rank, size)` gives an array that the
    rank can use, or None for one that is elsewhere. `round(moves, works)` does all of a round; what
    it reads is what the rounds before have left. `finish()` returns when the results can be used.
    """
    C = parts.setdefault("C", {})
    for rank in parts["A"].keys() - C.keys():
        block = schedule.homes[rank][2]
        C[rank] = world.empty(rank, block.size).reshape(block.shape)
    homes = {
        (rank, matrix): (block, parts[matrix].get(rank))
        for rank, blocks in schedule.homes.items()
        for matrix, block in zip("ABC", blocks)
    }
    room = slots(schedule)
    buffers = {
        (rank, number): world.empty(rank, size)
        for rank, sizes in room.sizes.items()
        for number, size in enumerate(sizes)
    }
    held: dict[tuple[int, Block], Any] = {}  # what is in the buffers

    def find(rank: int, block: Block) -> Any:
        if at_home(schedule, rank, block):
            home, array = homes[rank, block.matrix]
            return _part(array, block, home)
        return held.get((rank, block))

    def new(rank: int, block: Block, number: int) -> Any:
        if at_home(schedule, rank, block):
            return find(rank, block)
        buffer = buffers[rank, room.of[rank, block, number]]
        return None if buffer is None else buffer[: block.size].reshape(block.shape)

    try:
        _rounds(schedule, world, find, new, held, beta)
    finally:
        world.finish()


def _rounds(
    schedule: Schedule, world: Any, find: Any, new: Any, held: dict[Any, Any], beta: float
) -> None:
    """Give the world the arrays of each round."""
    lanes: dict[int, dict[Block, int]] = {}  # of a rank: its blocks of C, counted as they come
    for number, now in enumerate(schedule.rounds):
        works = []
        for product in now.products:
            key = product.rank, product.c
            if product.first and not at_home(schedule, *key) and key not in held:
                held[key] = new(*key, number)
            mine = lanes.setdefault(product.rank, {})
            lane = mine.setdefault(product.c, len(mine))
            a, b, c = (find(product.rank, block) for block in (product.a, product.b, product.c))
            if c is not None:
                works.append(Work(product.rank, a, b, c, beta if product.first else 1, lane))
        moves: list[Move] = []
        arriving: dict[tuple[int, Block], Any] = {}
        for transfer in now.transfers:
            source = find(transfer.source, transfer.block)
            targets = [(rank, new(rank, transfer.block, number)) for rank in transfer.targets]
            moves.append(Move(transfer.source, source, targets))
            arriving |= {(rank, transfer.block): array for rank, array in targets}
        world.round(moves, works)
        held |= arriving


def _part(array: Any, block: Block, home: Block | None = None) -> Any:
    """The block as a view of the array that has its home, or the whole matrix."""
    if array is None:
        return None
    top, left = (home.rows[0], home.columns[0]) if home else (0, 0)
    (first, last), (start, end) = block.rows, block.columns
    return array[first - top : last - top, start - left : end - left]


def product_of(step: Step | str | int | Multiply | None, on_gpus: bool) -> Multiply:
    """What multiplies on a rank: a step, the step of a label, a function, or what is usual."""
    if step is None:
        return sgemm if on_gpus else _by_numpy
    if isinstance(step, (str, int)):
        step = step_of(step)
    return functools.partial(_by_step, step) if isinstance(step, Step) else step


def _by_numpy(a: Any, b: Any, c: Any, alpha: float, beta: float) -> None:
    """c = alpha a b + beta c, as BLAS has it."""
    product = np.float32(alpha) * (a @ b) if alpha else 0  # as in BLAS: 0 times NaN is 0 here
    c[...] = product + (np.float32(beta) * c if beta else 0)


def _by_step(step: Step, a: Any, b: Any, c: Any, alpha: float, beta: float) -> None:
    """What is part of a larger matrix is copied for a step that takes no pitch of the rows."""
    taken = step.arguments
    pairs = ("lda", a), ("ldb", b), ("ldc", c)
    a, b, whole = (x if x.flags.c_contiguous or ld in taken else _copied(x) for ld, x in pairs)
    step(a, b, whole, alpha, beta)
    if whole is not c:
        _put(c, whole)


def _copied(x: Any) -> Any:
    """A copy of its own of part of a matrix."""
    made = gpu.empty(x.shape) if gpu.is_device_array(x) else np.empty(x.shape, np.float32)
    _put(made, x)
    return made


def _put(target: Any, source: Any) -> None:
    """Copy a matrix into another one of its kind."""
    if gpu.is_device_array(target):
        queues.copy_matrix(target, source, queues.current())
    else:
        target[...] = source


# ---------------------------------------------------------------------- what can be multiplied


def scalars(alpha: Any, beta: Any, name: str, C: Any) -> tuple[float, float]:
    """alpha and beta as kernels get them, so that what float32 has as 0 is 0 everywhere.

    Raises TypeError and ValueError for what is no such number, and for a beta without C.
    """
    require_float32("alpha", alpha)
    require_float32("beta", beta)
    if beta != 0 and C is None:
        raise ValueError(f"beta = {beta} scales C, so {name} must be given")
    return float(np.float32(alpha)), float(np.float32(beta))


def _blocks(schedule: Schedule, matrix: str, parts: Sequence[Any]) -> tuple[Block, ...]:
    """What the parts of the matrix are; raises ValueError unless there are as many."""
    blocks = schedule.parts(matrix)
    if len(parts) != len(blocks):
        raise ValueError(f"{len(blocks)} parts of {matrix} are needed, not {len(parts)}")
    return blocks


def _require_shape(name: str, part: Any, rank: int, block: Block, advice: str) -> None:
    """Raise ValueError for a part that is not of the shape of its block."""
    if np.shape(part) != block.shape:
        raise ValueError(
            f"{name} is of shape {np.shape(part)}; rank {rank} has {block}, which is "
            f"{block.shape}: {advice}"
        )


def require_parts(schedule: Schedule, given: Parts) -> set[int | None]:
    """Raise unless these parts of ranks are those of the schedule; returns the numbers of the GPUs
    that they are on, with None for the host."""
    places: dict[int, int | None] = {}
    names: dict[str, dict[str, Any]] = {"A": {}, "B": {}, "C": {}}
    for matrix, parts in given.items():
        for rank, part in parts.items():
            name, block = f"{matrix}_parts[{rank}]", schedule.parts(matrix)[rank]
            if not isinstance(part, np.ndarray) and not gpu.is_device_array(part):
                raise TypeError(f"{name} must be an array of NumPy or CuPy, not {type(part)}")
            require_no_mask(name, part)
            if part.dtype != np.float32 or not part.flags.c_contiguous:
                raise TypeError(f"{name} must be float32 and C-contiguous")
            _require_shape(name, part, rank, block, "cut the matrices with parallel.spread")
            place = part.device.id if gpu.is_device_array(part) else None
            if places.setdefault(rank, place) != place:
                raise ValueError(f"{name} and A_parts[{rank}] must be on one GPU, or on none")
            names[matrix][name] = part
    require_room(names["C"], names["A"] | names["B"])
    return set(places.values())
