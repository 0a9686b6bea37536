"""Measures what several GPUs do, each a rank: transfers, whole products, and their parts alone.

All ranks call these functions together, and all get the same rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from anywarp import gpu
from anywarp.gpu import queues
from kernels.analysis.reference import assert_close
from kernels.ladder.step import Step
from kernels.parallel import gpus
from kernels.parallel.multiply import Parts, execute, product_of
from kernels.parallel.processes import multiply
from kernels.parallel.schedule import Schedule, usual

from . import clock, inputs

MESSAGES = tuple(4**n for n in range(6, 16))  # bytes: 4 KiB to 1 GiB
CHECKED = 8  # rows, and as many columns, of every part of C


# ---------------------------------------------------------------------------- transfers


def links(kind: str, comm: Any) -> Iterator[list[Any]]:
    """[bytes, seconds] of transfers alone, of a kind in TRANSFERS, between all ranks."""
    for size in MESSAGES:
        arrays = gpu.empty(size // 4), gpu.empty(size // 4)
        yield [size, clock.median(TRANSFERS[kind], comm, *arrays, comm=comm)]


def _every(comm: Any) -> Any:
    """NCCL's communicator of all ranks."""
    every = tuple(range(comm.size))
    return gpus.communicators(comm, [every])[every]


def _ring(comm: Any, source: Any, target: Any) -> None:
    """Each rank to the one before it."""
    own, what = _every(comm), (source.size, gpus.load().NCCL_FLOAT32)
    before, after, queue = (
        (comm.rank - 1) % comm.size,
        (comm.rank + 1) % comm.size,
        queues.current(),
    )
    with gpus.grouped():
        own.send(gpu.address(source), *what, before, queue.ptr)
        own.recv(gpu.address(target), *what, after, queue.ptr)


def _broadcast(comm: Any, source: Any, target: Any) -> None:
    """The first rank to all others."""
    what = source.size, gpus.load().NCCL_FLOAT32, 0, queues.current().ptr
    _every(comm).broadcast(gpu.address(source), gpu.address(target), *what)


TRANSFERS: dict[str, Callable[[Any, Any, Any], None]] = {"ring": _ring, "broadcast": _broadcast}


# ---------------------------------------------------------------------------- whole products


def parts_of(schedule: Schedule, rank: int) -> Parts:
    """The rank's parts of A and B, and room for that of C, full of NaN."""
    _, N, K = schedule.shape
    a, b, c = schedule.homes[rank]
    C = gpu.empty(c.shape)
    gpu.fill_bytes(C, 0xFF)
    return {"A": {rank: inputs.on_gpu(a, K)}, "B": {rank: inputs.on_gpu(b, N)}, "C": {rank: C}}


def scaling(steps: Sequence[Step], sizes: Sequence[int], comm: Any) -> Iterator[dict[str, Any]]:
    """Whole products, in turn with the same on one GPU."""
    for n in sizes:
        plans = usual(n, comm.size)
        one = () if comm.rank else (inputs.whole("A", n, n), inputs.whole("B", n, n))
        whole = gpu.empty((n, n))
        every = [
            [parts[comm.rank] for parts in parts_of(plan, comm.rank).values()] for plan in plans
        ]
        for step in steps:
            single = functools.partial(step, *one, whole) if one else clock.nothing
            works: list[clock.Work] = [single]
            for plan, (A, B, C) in zip(plans, every):
                works.append(functools.partial(multiply, A, B, plan, C, step=step))
            alone, *times = (np.array(each) for each in clock.in_turn(works, comm))
            for plan, (*_, C), mine in zip(plans, every, times):
                _check(plan, comm.rank, C)
                yield {
                    "step": step.label,
                    "schedule": plan.name,
                    "n": n,
                    "gpus": plan.ranks,
                    "seconds": float(np.median(mine)),
                    "slowest": float(mine.max()),
                    "single": float(np.median(alone)),
                    "of_linear": float(np.median(alone) / (plan.ranks * np.median(mine))),
                    "repeats": len(mine),
                    "same_bits": _same(plan, comm, C, whole),
                }
                gpu.fill_bytes(C, 0xFF)


def _check(plan: Schedule, rank: int, C: Any) -> None:
    """Raise CheckError unless some rows and columns of the rank's part are right."""
    _, N, K = plan.shape
    random = np.random.default_rng(0)
    depth = np.arange(K, dtype=np.uint32)
    block = plan.homes[rank][2]
    rows, columns = (
        np.sort(random.choice(size, min(size, CHECKED), replace=False)).astype(np.uint32)
        for size in block.shape
    )
    A = inputs.elements("A", rows + np.uint32(block.rows[0]), depth, K)
    B = inputs.elements("B", depth, columns + np.uint32(block.columns[0]), N)
    assert_close(gpu.to_host(C[rows][:, columns]), A, B)


def _same(plan: Schedule, comm: Any, C: Any, whole: Any) -> bool:
    """Whether all elements have the bits of one GPU's C, which the first has in `whole`."""
    _broadcast(comm, whole, whole)
    block = plan.homes[comm.rank][2]
    theirs = whole[slice(*block.rows), slice(*block.columns)]
    return all(comm.allgather(bool((theirs.view(np.uint32) == C.view(np.uint32)).all())))


# ---------------------------------------------------------------------------- their parts


class _Products(gpus.Gpu):
    """Products without transfers, as fast as they would be if all were there already."""

    def round(self, moves: Sequence[Any], works: Sequence[Any]) -> None:
        super().round([], works)


class _OneStream(gpus.Gpu):
    """Products that wait for one another, as if each needed the one before."""

    def round(self, moves: Sequence[Any], works: Sequence[Any]) -> None:
        super().round(moves, [work._replace(lane=0) for work in works])


def apart(steps: Sequence[Step], n: int, comm: Any) -> Iterator[dict[str, Any]]:
    """Seconds of the transfers without the products, of the products without them, and of both
    with all products of a GPU on one stream."""
    for plan in usual(n, comm.size):
        parts, groups = parts_of(plan, comm.rank), gpus.groups_of(plan)
        runs: list[tuple[Step | None, str, type[gpus.Gpu]]] = [(None, "transfers", gpus.Gpu)]
        for step in steps:
            runs += [(step, "products", _Products), (step, "one lane", _OneStream)]
        for run_by, only, world in runs:
            product = product_of(run_by or clock.nothing, True)
            seconds = clock.median(
                lambda: execute(plan, world(comm, groups, product), parts, 0),  # noqa: B023
                comm=comm,
            )
            yield {
                "schedule": plan.name,
                "n": n,
                "gpus": comm.size,
                "step": run_by.label if run_by else None,
                "only": only,
                "seconds": seconds,
            }


def timelines(steps: Sequence[Step], n: int, comm: Any) -> dict[str, list[list[Any]]]:
    """[rank, what, round, start, end] of one run of each schedule, in seconds."""
    return {
        f"{plan.name}, {step.label}": _timeline(plan, step, comm)
        for plan in usual(n, comm.size)
        for step in steps
    }


def _timeline(plan: Schedule, step: Step, comm: Any) -> list[list[Any]]:
    product, parts = product_of(step, True), parts_of(plan, comm.rank)
    spans: list[gpus.Span] = []
    begins: list[Any] = []

    def work() -> None:
        spans.clear()
        begins[:] = [gpu.event()]
        execute(plan, gpus.Gpu(comm, gpus.groups_of(plan), product, spans=spans), parts, 0)

    work()
    clock.seconds(work, comm)
    return [span for own in comm.allgather(clock.since(*begins, spans)) for span in own]
