"""Measures what several GPUs do: transfers, whole products, and their parts alone."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from anywarp import gpu
from anywarp.gpu import queues
from kernels.analysis.reference import assert_close
from kernels.ladder.step import Step
from kernels.parallel import gpus, nccl
from kernels.parallel.multiply import execute, multiply, product_of
from kernels.parallel.schedule import Schedule, ring, usual

from . import clock, inputs

MESSAGES = tuple(4**n for n in range(6, 16))  # bytes: 4 KiB to 1 GiB
CHECKED = 8  # rows, and as many columns, of every part of C


# ---------------------------------------------------------------------------- transfers


def links(kind: str, count: int) -> Iterator[list[Any]]:
    """[bytes, seconds] of transfers alone, of a kind in TRANSFERS, between so many GPUs."""
    devices = range(count)
    for size in MESSAGES:
        source, target = (
            [_on(device, gpu.empty, size // 4) for device in devices] for _ in range(2)
        )
        yield [size, clock.median(devices, TRANSFERS[kind], source, target)]


def _on(device: int, make: Callable[..., Any], *args: Any) -> Any:
    with queues.device(device):
        return make(*args)


def _by_nccl(broadcast: bool, source: Sequence[Any], target: Sequence[Any]) -> None:
    """Each GPU to the one before it, or the first one to all others: one group of calls."""
    count, kind = len(source), nccl.load().NCCL_FLOAT32
    current = [_on(rank, queues.current).ptr for rank in range(count)]
    members = nccl.communicators(tuple(range(count)))
    with nccl.group():
        for rank, (own, queue) in enumerate(zip(members, current)):
            sent, received = gpu.address(source[rank]), gpu.address(target[rank])
            size = source[rank].size
            if broadcast:
                own.broadcast(sent, received, size, kind, 0, queue)
            else:
                own.send(sent, size, kind, (rank - 1) % count, queue)
                own.recv(received, size, kind, (rank + 1) % count, queue)


def _engines(source: Sequence[Any], target: Sequence[Any]) -> None:
    """The ring by the GPUs' copy engines, without NCCL. It has streams of its own: copies on the
    GPUs' null streams wait for one another."""
    every = [gpus.Queues(rank) for rank in range(len(source))]
    for rank, own in enumerate(every):
        to = (rank - 1) % len(source)
        _copy_to_peer(target[to], to, source[rank], rank, own.transfers)
    for rank, own in enumerate(every):
        with queues.device(rank):
            queues.current().wait_event(gpu.event(own.transfers))


def _copy_to_peer(target: Any, there: int, source: Any, here: int, queue: Any) -> None:
    """Queue a copy of a whole array from one GPU to another, by the GPUs' copy engines."""
    from cupy.cuda import runtime

    _reach(here, there)
    ends = gpu.address(target), there, gpu.address(source), here
    runtime.memcpyPeerAsync(*ends, source.nbytes, queue.ptr)


@functools.cache
def _reach(here: int, there: int) -> None:
    """Let one GPU write to the memory of another; where that cannot be, copies go by the host."""
    from cupy.cuda import runtime

    with queues.device(here):
        if runtime.deviceCanAccessPeer(here, there):
            with contextlib.suppress(runtime.CUDARuntimeError):  # somebody has done it before
                runtime.deviceEnablePeerAccess(there)


TRANSFERS: dict[str, Callable[[Sequence[Any], Sequence[Any]], None]] = {
    "ring": functools.partial(_by_nccl, False),
    "broadcast": functools.partial(_by_nccl, True),
    "engines": _engines,
}


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
    _poison(parts["C"])
    return parts


def _poison(parts: Sequence[Any]) -> None:
    for rank, part in enumerate(parts):
        _on(rank, gpu.fill_bytes, part, 0xFF)


def scaling(steps: Sequence[Step], sizes: Sequence[int], count: int) -> Iterator[dict[str, Any]]:
    """Whole products, in turn with the same on one GPU."""
    for n in sizes:
        plans = usual(n, count) + ([ring(n, n, n, 2)] if count > 2 else [])
        matrices = inputs.whole("A", n, n), inputs.whole("B", n, n), gpu.empty((n, n))
        every = [parts_of(plan) for plan in plans]
        for step in steps:
            works: list[clock.Work] = [([0], functools.partial(step, *matrices))]
            for plan, parts in zip(plans, every):
                operands = parts["A"], parts["B"], plan, parts["C"]
                work = functools.partial(multiply, *operands, step=step)
                works.append((range(plan.ranks), work))
            alone, *times = clock.in_turn(works)
            for plan, parts, mine in zip(plans, every, times):
                _check(plan, parts["C"])
                single, together = float(np.median(alone)), float(np.median(mine))
                yield {
                    "step": step.label,
                    "schedule": plan.name,
                    "n": n,
                    "gpus": plan.ranks,
                    "seconds": together,
                    "slowest": max(mine),
                    "single": single,
                    "of_linear": single / (plan.ranks * together),
                    "repeats": len(mine),
                    "same_bits": _same(plan, parts["C"], matrices[2]),
                }
                _poison(parts["C"])


def _check(plan: Schedule, parts: Sequence[Any]) -> None:
    """Raise CheckError unless some rows and columns of every part are right."""
    _, N, K = plan.shape
    random = np.random.default_rng(0)
    depth = np.arange(K, dtype=np.uint32)
    for rank, (block, part) in enumerate(zip(plan.parts("C"), parts)):
        rows, columns = (
            np.sort(random.choice(size, min(size, CHECKED), replace=False)).astype(np.uint32)
            for size in block.shape
        )
        with queues.device(rank):
            result = gpu.to_host(part[rows][:, columns])
        A = inputs.elements("A", rows + np.uint32(block.rows[0]), depth, K)
        B = inputs.elements("B", depth, columns + np.uint32(block.columns[0]), N)
        assert_close(result, A, B)


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


class _OneStream(gpus.Gpus):
    """Products that wait for one another, as if each needed the one before."""

    def round(self, moves: Sequence[Any], works: Sequence[Any]) -> None:
        super().round(moves, [work._replace(lane=0) for work in works])


def apart(steps: Sequence[Step], n: int, count: int) -> Iterator[dict[str, Any]]:
    """Seconds of the transfers without the products, of the products without them, and of both
    with all products of a GPU on one stream."""
    devices = range(count)
    for plan in usual(n, count):
        parts = parts_of(plan)
        runs: list[tuple[Step | None, str, type[gpus.Gpus]]] = [(None, "transfers", gpus.Gpus)]
        for step in steps:
            runs += [(step, "products", _Products), (step, "one lane", _OneStream)]
        for run_by, only, world in runs:
            product = product_of(run_by or clock.nothing, True)
            seconds = clock.median(
                devices,
                lambda: execute(plan, world(devices, product), parts, 0),  # noqa: B023
            )
            name = run_by.label if run_by else None
            yield {
                "schedule": plan.name,
                "n": n,
                "gpus": count,
                "step": name,
                "only": only,
                "seconds": seconds,
            }


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
    clock.seconds(devices, work)
    return clock.since(begins, spans)
