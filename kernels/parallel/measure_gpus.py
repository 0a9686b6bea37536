"""Measures what several GPUs do: transfers, whole products, and their parts alone."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from anywarp import gpu
from anywarp.gpu import queues

from ..analysis.reference import assert_close
from ..ladder.step import Step
from . import gpus, inputs, nccl, timing
from .multiply import execute, multiply, product_of
from .schedule import Schedule, ring, usual

LINKS = ("ring", "broadcast", "engines")
MESSAGES = tuple(4**n for n in range(6, 16))  # bytes: 4 KiB to 1 GiB
CHECKED = 8  # rows, and as many columns, of every part of C


# ---------------------------------------------------------------------------- transfers


def links(kind: str, count: int) -> Iterator[list[Any]]:
    """[bytes, seconds] of transfers alone: by NCCL each GPU to the one before it ("ring") or one to
    all others ("broadcast"); or the ring by the GPUs' copy engines, without NCCL ("engines")."""
    devices = range(count)
    for size in MESSAGES:
        source, target = (
            [_on(device, gpu.empty, size // 4) for device in devices] for _ in range(2)
        )
        yield [size, timing.median(devices, _TRANSFERS[kind], source, target)]


def _on(device: int, make: Callable[..., Any], *args: Any) -> Any:
    with queues.device(device):
        return make(*args)


def _by_nccl(call: Callable[..., None], source: Sequence[Any], target: Sequence[Any]) -> None:
    """One group of calls, of each GPU's communicator."""
    kind, ranks = nccl.load().NCCL_FLOAT32, range(len(source))
    members = nccl.communicators(tuple(ranks))
    current = [_on(rank, queues.current).ptr for rank in ranks]
    with nccl.group():
        for rank, one in enumerate(members):
            ends = gpu.address(source[rank]), gpu.address(target[rank])
            call(one, rank, *ends, source[rank].size, kind, current[rank])


def _ring(source: Sequence[Any], target: Sequence[Any]) -> None:
    count = len(source)

    def call(one: Any, rank: int, sent: int, received: int, *more: int) -> None:
        size, kind, queue = more
        one.send(sent, size, kind, (rank - 1) % count, queue)
        one.recv(received, size, kind, (rank + 1) % count, queue)

    _by_nccl(call, source, target)


def _broadcast(source: Sequence[Any], target: Sequence[Any]) -> None:
    def call(one: Any, _: int, sent: int, received: int, *more: int) -> None:
        size, kind, queue = more
        one.broadcast(sent, received, size, kind, 0, queue)

    _by_nccl(call, source, target)


def _engines(source: Sequence[Any], target: Sequence[Any]) -> None:
    """On streams of their own: copies on the GPUs' null streams wait for one another."""
    every = [gpus.Queues(rank) for rank in range(len(source))]
    for rank, own in enumerate(every):
        to = (rank - 1) % len(source)
        queues.copy_to_peer(target[to], to, source[rank], rank, own.transfers)
    for rank, own in enumerate(every):
        with queues.device(rank):
            queues.current().wait_event(queues.mark(own.transfers))


_TRANSFERS = {"ring": _ring, "broadcast": _broadcast, "engines": _engines}


# ---------------------------------------------------------------------------- whole products


def parts_of(schedule: Schedule) -> dict[str, list[Any]]:
    """The parts of A and B on their GPUs, and room for those of C, full of NaN."""
    _, N, K = schedule.shape
    parts: dict[str, list[Any]] = {"A": [], "B": [], "C": []}
    for rank in range(schedule.ranks):
        a, b, c = schedule.homes[rank]
        with queues.device(rank):
            parts["A"].append(inputs.on_gpu(a, K))
            parts["B"].append(inputs.on_gpu(b, N))
            parts["C"].append(gpu.empty(c.shape))
            gpu.fill_bytes(parts["C"][-1], 0xFF)
    return parts


def scaling(steps: Sequence[Step], sizes: Sequence[int], count: int) -> Iterator[dict[str, Any]]:
    """Whole products, in turn with the same on one GPU."""
    for n in sizes:
        plans = usual(n, count) + ([ring(n, n, n, 2)] if count > 2 else [])
        matrices = inputs.whole("A", n, n), inputs.whole("B", n, n), gpu.empty((n, n))
        every = [parts_of(plan) for plan in plans]
        for step in steps:
            works: list[tuple[Any, Callable[[], Any]]]
            works = [([0], functools.partial(step, *matrices))]
            for plan, parts in zip(plans, every):
                operands = parts["A"], parts["B"], plan, parts["C"]
                work = functools.partial(multiply, *operands, step=step)
                works.append((range(plan.ranks), work))
            single, *times = timing.in_turn(works)
            for plan, parts, mine in zip(plans, every, times):
                _check(plan, parts["C"])
                one, together = float(np.median(single)), float(np.median(mine))
                yield {
                    "step": step.label,
                    "schedule": plan.name,
                    "n": n,
                    "gpus": plan.ranks,
                    "seconds": together,
                    "slowest": max(mine),
                    "single": one,
                    "of_linear": one / (plan.ranks * together),
                    "repeats": len(mine),
                    "same_bits": _same(plan, parts["C"], matrices[2]),
                }
                for rank, part in enumerate(parts["C"]):
                    _on(rank, gpu.fill_bytes, part, 0xFF)


def _check(plan: Schedule, parts: Sequence[Any]) -> None:
    """Raise CheckError unless some rows and columns of every part are right."""
    M, N, K = plan.shape
    random = np.random.default_rng(0)
    for rank, (block, part) in enumerate(zip(plan.parts("C"), parts)):
        rows, columns = (
            np.sort(random.choice(size, min(size, CHECKED), replace=False)) for size in block.shape
        )
        with queues.device(rank):
            found = gpu.to_host(part[rows][:, columns])
        A = inputs.elements("A", rows + block.rows[0], np.arange(K), K)
        B = inputs.elements("B", np.arange(K), columns + block.columns[0], N)
        assert_close(found, A, B)


def _same(plan: Schedule, parts: Sequence[Any], C: Any) -> bool:
    """Whether all elements have the bits of one GPU's C, which is on the first."""
    for block, part in zip(plan.parts("C"), parts):
        here = gpu.empty(part.shape)
        here.data.copy_from_device(part.data, part.nbytes)
        theirs = C[slice(*block.rows), slice(*block.columns)]
        if not bool((theirs.view(np.uint32) == here.view(np.uint32)).all()):
            return False
    return True


# ---------------------------------------------------------------------------- their parts


class _Products(gpus.Gpus):
    """Products without transfers, as fast as they would be if all were there already."""

    def round(self, moves: Sequence[Any], works: Sequence[Any]) -> None:
        super().round([], works)


class _OneLane(gpus.Gpus):
    """Products that wait for one another, as if each needed the one before."""

    def round(self, moves: Sequence[Any], works: Sequence[Any]) -> None:
        super().round(moves, [work._replace(lane=0) for work in works])


def _nothing(*_: Any) -> None:
    """In the place of a product, so that transfers are left."""


def apart(steps: Sequence[Step], n: int, count: int) -> Iterator[dict[str, Any]]:
    """Seconds of the transfers without the products, of the products without them, and of both
    with all products of a GPU on one stream."""
    devices = range(count)

    def run(world: Any, plan: Schedule, product: Any, parts: dict[str, list[Any]]) -> float:
        return timing.median(devices, lambda: execute(plan, world(devices, product), parts, 0))

    for plan in usual(n, count):
        parts = parts_of(plan)
        row = {"schedule": plan.name, "n": n, "gpus": count}
        yield row | {
            "step": None,
            "only": "transfers",
            "seconds": run(gpus.Gpus, plan, _nothing, parts),
        }
        for step in steps:
            product = product_of(step, True)
            for only, world in (("products", _Products), ("one lane", _OneLane)):
                time = run(world, plan, product, parts)
                yield row | {"step": step.label, "only": only, "seconds": time}


def timelines(steps: Sequence[Step], n: int, count: int) -> dict[str, list[list[Any]]]:
    """[rank, what, round, start, end] of one run of each schedule, in seconds."""
    return {
        f"{plan.name}, {step.label}": _timeline(plan, step)
        for plan in usual(n, count)
        for step in steps
    }


def _timeline(plan: Schedule, step: Step) -> list[list[Any]]:
    devices, product, parts = range(plan.ranks), product_of(step, True), parts_of(plan)
    spans: list[gpus.Span] = []
    begins: list[Any] = []

    def work() -> None:
        spans.clear()
        begins[:] = [_on(device, gpu.event) for device in devices]
        execute(plan, gpus.Gpus(devices, product, spans=spans), parts, 0)

    work()
    timing.seconds(devices, work)
    since = lambda rank, event: round(gpu.elapsed_ms(begins[rank], event) / 1000, 7)
    return [
        [one.rank, one.what, one.round, since(one.rank, one.start), since(one.rank, one.end)]
        for one in spans
    ]
