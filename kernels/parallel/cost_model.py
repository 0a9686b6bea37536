"""How long a schedule takes: alpha and beta for transfers, waves of tiles for products.

    seconds of a transfer = alpha + beta * bytes
    seconds of a product  = launch + operand * (m + n) * k + waves * (wave + depth * k)

A rank computes its tiles of C in waves, as many at a time as its SMs hold; `operand` is what it
does with each element of A and B before, such as splitting it for tensor cores. The last wave is
not full, unless another product follows that does not depend on this one. A round takes as long as
the slowest rank, and a rank as long as the longer of its transfers and its products, which overlap.
The six numbers of a `Machine` are fitted to measurements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .gpus import STREAMS, Span
from .schedule import HOST, PIECES, LocalProduct, Round, Schedule, square

FLOAT = 4  # bytes


@dataclass(frozen=True)
class Machine:
    """The speeds of ranks that are all alike, in seconds."""

    alpha: float  # of a transfer, however short
    beta: float  # of a byte
    launch: float  # of a product, however small
    operand: float  # of an element of A or B, before any is multiplied
    wave: float  # of a wave of tiles, however short their K
    depth: float  # of a wave for each k
    tile: tuple[int, int]  # of C, that a block computes
    slots: int  # tiles at a time

    @property
    def tflops(self) -> float:
        """Of full waves with a long K."""
        return 2e-12 * self.tile[0] * self.tile[1] * self.slots / self.depth

    @property
    def gbs(self) -> float:
        """10^9 bytes a second of a long transfer, in each direction."""
        return 1e-9 / self.beta

    def transfer(self, elements: float, stages: float = 1) -> float:
        """Seconds of a transfer; of a broadcast with its stages."""
        return stages * self.alpha + FLOAT * elements * self.beta if elements else 0.0

    def product(self, m: int, n: int, k: int, followed: bool = False) -> float:
        """Seconds of a local product of this shape; `followed` by one that does not depend on it,
        whose first tiles take the places that its last wave leaves."""
        tiles = math.ceil(m / self.tile[0]) * math.ceil(n / self.tile[1])
        if tiles == 0:
            return 0.0
        waves: float = math.ceil(tiles / self.slots)
        if followed:
            waves = max(tiles / self.slots, 1 / STREAMS)  # no more than STREAMS products at a time
        return self.launch + self.operand * (m + n) * k + waves * (self.wave + k * self.depth)


class Prediction(NamedTuple):
    """How long a schedule takes, and what each rank does when."""

    seconds: float
    spans: tuple[Span, ...]


def predict(schedule: Schedule, machine: Machine) -> Prediction:
    """What the rounds of a schedule take on ranks of this kind."""
    now, spans = 0.0, []
    followed = _followed(schedule)
    for number, this in enumerate(schedule.rounds):
        moving, computing = _transfers(this, machine), _products(this, machine, followed)
        for what, times in (("transfer", moving), ("multiply", computing)):
            spans += [
                Span(rank, what, number, now, now + time) for rank, time in times.items() if time
            ]
        now += max([0.0, *moving.values(), *computing.values()])
    return Prediction(now, tuple(spans))


def _transfers(done: Round, machine: Machine) -> dict[int, float]:
    """Seconds for each rank: what it sends and what it receives go at the same time."""
    sent: dict[int, float] = {}
    received: dict[int, float] = {}
    for transfer in done.transfers:
        time = machine.transfer(transfer.block.size, stages(len(transfer.targets)))
        sent[transfer.source] = sent.get(transfer.source, 0.0) + time
        for target in transfer.targets:
            received[target] = received.get(target, 0.0) + time
    ranks = {*sent, *received}
    return {rank: max(sent.get(rank, 0.0), received.get(rank, 0.0)) for rank in sorted(ranks)}


def stages(targets: int) -> int:
    """Of a broadcast, in which every rank that has the first bytes hands them on."""
    return math.ceil(math.log2(targets + 1))


def _products(done: Round, machine: Machine, followed: set[LocalProduct]) -> dict[int, float]:
    """Seconds for each rank that multiplies in a round."""
    times: dict[int, float] = {}
    for product in done.products:
        (m, n), k = product.c.shape, product.a.shape[1]
        time = machine.product(m, n, k, product in followed)
        times[product.rank] = times.get(product.rank, 0.0) + time
    return times


def _followed(schedule: Schedule) -> set[LocalProduct]:
    """The products of GPUs after which the same GPU computes another block of C: these run in
    another stream. What comes from the host is computed in one."""
    followed: set[LocalProduct] = set()
    last: dict[int, LocalProduct] = {}
    for product in (product for now in schedule.rounds for product in now.products):
        before = last.get(product.rank)
        if before is not None and before.c != product.c and HOST not in schedule.homes:
            followed.add(before)
        last[product.rank] = product
    return followed


# -------------------------------------------------------------- many ranks, without their lists


def ring_seconds(n: int, ranks: int, machine: Machine) -> float:
    """`predict` of the ring for square matrices of order n."""
    part = math.ceil(n / ranks)
    multiply = machine.product(part, part, n, followed=True)
    send = machine.transfer(n * part)
    return (ranks - 1) * max(multiply, send) + machine.product(part, part, n)


def summa_seconds(n: int, ranks: int, machine: Machine, pieces: int = 0) -> float:
    """`predict` of SUMMA on the grid nearest to a square, for square matrices of order n; the least
    of 1 to PIECES panels for each that a rank has, if `pieces` is 0."""
    if not pieces:
        return min(summa_seconds(n, ranks, machine, count) for count in range(1, PIECES + 1))
    high, wide = square(ranks)
    panels = max(high, wide) * pieces  # of a grid whose sides divide one another
    rows, columns, depth = (math.ceil(n / count) for count in (high, wide, panels))
    send = machine.transfer((wide > 1) * rows * depth, stages(wide - 1))
    send += machine.transfer((high > 1) * columns * depth, stages(high - 1))
    multiply = machine.product(rows, columns, depth)
    return send + (panels - 1) * max(multiply, send) + multiply


def efficiency(seconds_of_one: float, seconds: float, ranks: int) -> float:
    """The share of linear scaling: 1 if so many ranks are so many times as fast as one."""
    return seconds_of_one / (ranks * seconds)


# ---------------------------------------------------------------------------- from measurements


def fit_transfers(measured: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """alpha and beta from (bytes, seconds), with the least relative errors."""
    columns = [[1.0, size] for size, _ in measured]
    alpha, beta = _fit(columns, [seconds for _, seconds in measured])
    return alpha, beta


def fit_products(
    measured: Sequence[tuple[int, int, int, float]], tile: tuple[int, int], slots: int
) -> list[float]:
    """launch, operand, wave and depth from (m, n, k, seconds)."""
    columns = []
    for m, n, k, _ in measured:
        waves = math.ceil(math.ceil(m / tile[0]) * math.ceil(n / tile[1]) / slots)
        columns.append([1.0, (m + n) * k, waves, waves * k])
    return _fit(columns, [row[3] for row in measured])


def _fit(columns: Sequence[Sequence[float]], seconds: Sequence[float]) -> list[float]:
    """The factors, none below zero, for which the sums of the columns come nearest to the
    seconds: least squares of the relative errors."""
    table = np.array(columns) / np.array(seconds)[:, None]
    kept = list(range(table.shape[1]))
    while True:
        factors, *_ = np.linalg.lstsq(table[:, kept], np.ones(len(table)), rcond=None)
        if min(factors) >= 0:
            break
        kept.pop(int(np.argmin(factors)))
    result = np.zeros(table.shape[1])
    result[kept] = factors
    return list(map(float, result))


def machine(records: dict[str, Any], step: str, gpus: int, links: str = "ring") -> Machine:
    """The machine of a record, `kernels.records.parallel(…)`, whose ranks multiply by this step,
    with the transfers that so many GPUs measured. Raises KeyError for what is not recorded."""
    kernel = records["1"]["kernels"][step]
    tile = tuple(kernel["tile"])
    products = records["1"]["products"][step]
    alpha, beta = fit_transfers(records[str(gpus)]["links"][links])
    launch, operand, wave, depth = fit_products(products, tile, kernel["slots"])
    return Machine(alpha, beta, launch, operand, wave, depth, tile, kernel["slots"])
