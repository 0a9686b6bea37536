"""A product that is larger than the memory of the GPU: matrices stay in the host's memory.

C is computed tile by tile. For each tile, panels of A and B come up to the GPU while those before
them are multiplied, and the finished tile goes down while the next one is computed. This is a
`Schedule`, of a host that has everything and one rank that has nothing but buffers.

A tile of t x t takes 8 t bytes and 2 t^2 operations for each k, t / 4 operations a byte; if its
rows of A have come for the tile before, t / 2. The larger the tiles, the less the connection
between host and GPU matters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from anywarp import gpu
from anywarp.gpu import queues

from ..ladder.product.arguments import require_no_mask
from ..ladder.product.layout import require_room
from ..ladder.step import Step
from .multiply import Multiply, Ranks, execute, product_of, scalars
from .schedule import HOST, Block, LocalProduct, Round, Schedule, Transfer, cut
from .verify import verify

DEVICES = "auto", "gpu", "host"
FLOAT = 4  # bytes
HOST_BYTES = 2**30  # for buffers in this process, where nothing need fit
GRANULE = 256  # sides of tiles are multiples of this, as the tiles of blocks divide it


def plan(M: int, N: int, K: int, tile: int, depth: int, reads_c: bool = False) -> Schedule:
    """Tiles of C of at most tile x tile, computed with panels of A and B at most `depth` deep.

    Tiles and panels are gone through like a snake, so that from one to the next a block that is
    used again need not be sent again. `reads_c`: tiles of C are sent up first, for a beta.
    """
    if min(tile, depth) < 1:
        raise ValueError(f"tiles of {tile} and panels of {depth}: 1 at least")
    rows, columns, inner = (
        cut(size, max(1, math.ceil(size / most)))
        for size, most in ((M, tile), (N, tile), (K, depth))
    )
    steps: list[tuple[Block, Block, Block, bool]] = []
    for i, high in enumerate(rows):
        for wide in columns if i % 2 == 0 else columns[::-1]:
            c = Block("C", high, wide)
            backwards = len(steps) // len(inner) % 2
            for n, deep in enumerate(inner[::-1] if backwards else inner):
                steps.append((Block("A", high, deep), Block("B", deep, wide), c, n == 0))
    rounds = []
    before: set[Block] = set()
    for number in range(len(steps) + 2):
        transfers: list[Transfer] = []
        products: list[LocalProduct] = []
        if number < len(steps):
            a, b, c, first = steps[number]
            up = {a, b, *([c] if first and reads_c else [])}
            transfers += [Transfer(block, HOST, (0,)) for block in sorted(up - before)]
            before = {a, b}
        if 0 < number <= len(steps):
            products.append(LocalProduct(0, *steps[number - 1]))
        if number > 1:
            *_, c, _ = steps[number - 2]
            if number > len(steps) or steps[number - 1][2] != c:  # the tile is finished
                transfers.append(Transfer(c, 0, (HOST,)))
        rounds.append(Round(tuple(transfers), tuple(products)))
    whole = Block("A", (0, M), (0, K)), Block("B", (0, K), (0, N)), Block("C", (0, M), (0, N))
    return Schedule(f"stream {tile} x {depth}", (M, N, K), 1, {HOST: whole}, tuple(rounds))


def fit(M: int, N: int, K: int, memory: int) -> tuple[int, int]:
    """The tile and the depth of panels, whose buffers fit in so many bytes, for which the least
    has to travel. Raises ValueError for less memory than the smallest needs.

    There are two tiles of C, one that is computed and one on its way, and two panels of A and of
    B: 2 t^2 + 4 t d elements. Panels a quarter as deep as the tile is long permit the largest
    tiles, with t / 4 operations a byte. Those as deep as K need more room, but then the panel of A
    serves for a whole row of tiles, and only B travels: t / 2 operations a byte.
    """
    most = max(memory, 0) // FLOAT
    flat = math.isqrt(most // 3), math.isqrt(most // 3) // 4
    deep = math.isqrt(K * K + most // 2) - K, K
    side, depth = max(flat, deep, key=lambda tile: tile[0] / (4 if tile is flat else 2))
    if min(flat) < 1:
        raise ValueError(f"{memory} bytes hold no tiles: 192 at least")
    return _down(min(side, max(M, N, 1))), max(1, depth if depth >= K else _down(depth))


def _down(size: int) -> int:
    """Rounded down to whole granules, if it has any."""
    return size // GRANULE * GRANULE or size


def multiply(
    A: np.ndarray,
    B: np.ndarray,
    C: np.ndarray | None = None,
    alpha: float = 1,
    beta: float = 0,
    *,
    memory: int | None = None,
    tile: tuple[int, int] | None = None,
    step: Step | str | int | Multiply | None = None,
    device: str = "auto",
) -> np.ndarray:
    """C = alpha A B + beta C of NumPy matrices, through a GPU that need not hold them.

    `memory`: bytes of the GPU's memory for buffers, of all that is free nine tenths unless given;
    `tile`: the side of a tile of C and the depth of panels instead. The matrices' memory is
    page-locked for the call, so that the GPU can copy from it by itself, unless it is from the
    start, as that of `anywarp.gpu.queues.pinned` is. `device`: "auto", "gpu" or "host",
    which carries out the same schedule in this process. C shares no memory with A or B. As in BLAS,
    what is in C does not count when beta is 0, nor what is in A and B when alpha is 0. Raises
    TypeError, ValueError, NoGPU.
    """
    if device not in DEVICES:
        raise ValueError(f"device is one of {', '.join(DEVICES)}, not {device!r}")
    for name, X in (("A", A), ("B", B), ("C", C)):
        if X is None:
            continue
        if not isinstance(X, np.ndarray) or X.dtype != np.float32 or X.ndim != 2:
            raise TypeError(f"{name} must be a float32 array of NumPy with two dimensions")
        require_no_mask(name, X)
        if not X.flags.c_contiguous:
            raise ValueError(f"{name} must be C-contiguous: np.ascontiguousarray({name})")
    alpha, beta = scalars(alpha, beta, "C", C)
    (M, K), (rows, N) = A.shape, B.shape
    if rows != K:
        raise ValueError(f"A is {A.shape} and B is {B.shape}: A needs as many columns as B rows")
    if C is None:
        C = np.empty((M, N), np.float32)
    if C.shape != (M, N):
        raise ValueError(f"C is {C.shape}, and A B is {(M, N)}")
    require_room({"C": C}, {"A": A, "B": B})
    on_gpu = device == "gpu" or (device == "auto" and gpu.available())
    if on_gpu:
        gpu.require()
    if tile is None:
        if memory is None:
            memory = int(0.9 * queues.free_bytes()) if on_gpu else HOST_BYTES
        tile = fit(M, N, K, memory)
    schedule = plan(M, N, K, *tile, reads_c=beta != 0)
    verify(schedule, scales=beta != 0)
    product = product_of(step, on_gpu)
    parts = {"A": {HOST: A}, "B": {HOST: B}, "C": {HOST: C}}
    if not on_gpu:
        execute(schedule, Ranks(product, alpha), parts, beta)
        return C
    with queues.locked(A, B, C):
        world = Streams(product, alpha)
        try:
            execute(schedule, world, parts, beta)
        finally:
            gpu.synchronize()  # before the memory is unlocked, whatever happened
    return C


class Streams:
    """The GPU as the one rank: a stream for what comes up, one for what goes down, one for
    products. Each round waits for all of the round before."""

    def __init__(self, product: Any, alpha: float = 1):
        self.product, self.alpha = product, alpha
        self.up, self.multiply, self.down = self.queues = [queues.stream() for _ in range(3)]
        self.ends = [gpu.event(queues.current())]

    def empty(self, rank: int, size: int) -> Any:
        return gpu.empty(size)

    def round(self, moves: Sequence[Any], works: Sequence[Any]) -> None:
        for queue in self.queues:
            for event in self.ends:
                queue.wait_event(event)
        for move in moves:
            for target, array in move.targets:
                queue = self.down if target == HOST else self.up
                queues.copy_matrix(array, move.source, queue)
        with self.multiply:
            for work in works:
                self.product(work.a, work.b, work.c, self.alpha, work.beta)
        self.ends = [gpu.event(queue) for queue in self.queues]

    def finish(self) -> None:
        for event in self.ends:
            queues.current().wait_event(event)
