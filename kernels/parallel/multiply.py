"""Carries out a schedule on whatever holds the parts: ranks in this process, or GPUs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from anywarp import gpu
from anywarp.gpu import queues

from ..ladder.choose import sgemm
from ..ladder.product.arguments import require_float32, require_no_mask
from ..ladder.product.layout import require_room
from ..ladder.step import Step, step as step_of
from .schedule import Block, Schedule, ring
from .slots import at_home, slots
from .verify import verify

# c = alpha a b + beta c, on the arrays of one rank
Multiply = Callable[[Any, Any, Any, float, float], None]


class Move(NamedTuple):
    """An array of a rank, and the arrays of others that are to become copies of it."""

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


class World(Protocol):
    """Where ranks live."""

    def empty(self, rank: int, size: int) -> Any:
        """An array of so many elements that the rank can use, with anything in it."""

    def round(self, moves: Sequence[Move], works: Sequence[Work]) -> None:
        """Do all of a round. What it reads is what the rounds before have left."""

    def finish(self) -> None:
        """Return when the results can be used as any others."""


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
    schedule: Schedule | None = None,
    C_parts: Sequence[Any] | None = None,
    alpha: float = 1,
    beta: float = 0,
    step: Step | str | int | Multiply | None = None,
    timeout: float | None = None,
) -> list[Any]:
    """C = alpha A B + beta C, of matrices of which each rank has a part; returns the parts of C.

    A_parts[r], B_parts[r] and C_parts[r] are what rank r has, as `schedule.parts` says: float32
    matrices of NumPy for ranks in this process, or of CuPy, each rank's on a GPU of its own; then
    the GPUs talk through NCCL, and the call returns before they are done. All GPUs are those of one
    host, and one process, this one, drives them all: there is no launcher, and nothing goes over a
    network. With a `timeout`, in seconds, the call waits until the GPUs are done; if they are not
    by then, it ends NCCL's transfers and raises TimeoutError.

    Without a schedule it is the ring: rows of A and C, columns of B. `step` multiplies on each
    rank: a step or its label, or anything that is called as `kernels.sgemm` is, which it is without
    on GPUs; in this process NumPy multiplies then. As in BLAS, what is in C does not count when
    beta is 0, nor what is in A and B when alpha is 0. Parts of C share no memory with any other
    part.

    Raises ScheduleError for a schedule that does not compute the product, TypeError and ValueError
    for parts that do not fit it, NoGPU where there are too few, ImportError without NCCL,
    TimeoutError.
    """
    alpha, beta = scalars(alpha, beta, "C_parts", C_parts)
    if schedule is None:
        schedule = ring(*_shape(A_parts, B_parts), len(A_parts))
    verify(schedule, scales=beta != 0)
    matrices = {"A": A_parts, "B": B_parts, "C": C_parts}
    given = {name: list(parts) for name, parts in matrices.items() if parts is not None}
    on_gpus = _require_parts(schedule, given)
    product = product_of(step, on_gpus)
    if on_gpus:
        from .gpus import Gpus

        world: Any = Gpus([part.device.id for part in given["A"]], product, alpha, None, timeout)
    else:
        world = Ranks(product, alpha)
    if C_parts is None:
        given["C"] = [
            world.empty(rank, block.size).reshape(block.shape)
            for rank, block in enumerate(schedule.parts("C"))
        ]
    execute(schedule, world, given, beta)
    return given["C"]


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


def execute(schedule: Schedule, world: World, parts: dict[str, list[Any]], beta: float) -> None:
    """Do all rounds, with the parts of the ranks in the order of `schedule.homes`."""
    ranks = sorted(schedule.homes)
    homes = {
        (rank, matrix): (block, parts[matrix][index])
        for index, rank in enumerate(ranks)
        for matrix, block in zip("ABC", schedule.homes[rank])
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
        return held[rank, block]

    def new(rank: int, block: Block, number: int) -> Any:
        if at_home(schedule, rank, block):
            return find(rank, block)
        buffer = buffers[rank, room.of[rank, block, number]]
        return buffer[: block.size].reshape(block.shape)

    try:
        _rounds(schedule, world, find, new, held, beta)
    finally:
        world.finish()


def _rounds(
    schedule: Schedule, world: World, find: Any, new: Any, held: dict[Any, Any], beta: float
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


def _shape(A_parts: Sequence[Any], B_parts: Sequence[Any]) -> tuple[int, int, int]:
    """M, N, K of rows of A and columns of B."""
    if not A_parts or len(A_parts) != len(B_parts):
        raise ValueError(
            f"there are {len(A_parts)} parts of A and {len(B_parts)} of B: one of each for a rank"
        )
    for part in (*A_parts, *B_parts):
        if getattr(part, "ndim", None) != 2:
            raise TypeError(f"a part must be a matrix of NumPy or CuPy, not {part!r:.60}")
    M, N = sum(x.shape[0] for x in A_parts), sum(x.shape[1] for x in B_parts)
    return M, N, A_parts[0].shape[1]


def _require_parts(schedule: Schedule, given: dict[str, list[Any]]) -> bool:
    """Raise unless the parts are those of the schedule; returns whether they are on GPUs."""
    kinds = set()
    for matrix, parts in given.items():
        for rank, (part, block) in enumerate(zip(parts, _blocks(schedule, matrix, parts))):
            name = f"{matrix}_parts[{rank}]"
            if not isinstance(part, np.ndarray) and not gpu.is_device_array(part):
                raise TypeError(f"{name} must be an array of NumPy or CuPy, not {type(part)}")
            require_no_mask(name, part)
            if part.dtype != np.float32 or not part.flags.c_contiguous:
                raise TypeError(f"{name} must be float32 and C-contiguous")
            _require_shape(name, part, rank, block, "cut the matrices with parallel.spread")
            kinds.add(gpu.is_device_array(part))
            first = given["A"][rank]
            if gpu.is_device_array(part) and gpu.is_device_array(first):
                here, there = part.device.id, first.device.id
                if here != there:
                    raise ValueError(
                        f"{name} is on GPU {here}, and A_parts[{rank}] on GPU {there}: the parts "
                        "of a rank are on one GPU"
                    )
    if len(kinds) > 1:
        raise TypeError("some parts are NumPy's and some CuPy's: all of one kind")
    named = {
        matrix: {f"{matrix}_parts[{rank}]": part for rank, part in enumerate(parts)}
        for matrix, parts in given.items()
    }
    require_room(named.get("C", {}), named["A"] | named["B"])
    return kinds.pop()
