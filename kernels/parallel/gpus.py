"""A rank that is a GPU, the current one of this process, with NCCL between it and the others.

The GPU has three streams: one for what it sends and receives, two for products that do not depend
on one another, so that the first blocks of one fill the SMs that the last blocks of the other leave
idle. Events between them say what the rounds of a schedule mean: the transfers of a round wait for
all of the round before, the products for its transfers. Nothing waits for Python, which runs ahead.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from anywarp import gpu
from anywarp.gpu.queues import copy_matrix, current, stream

from .schedule import Schedule

STREAMS = 2  # streams for products
URGENT = -5  # priority of transfers, the lower the sooner; CUDA takes the nearest that there is

Group = tuple[int, ...]  # ranks, in ascending order


class Span(NamedTuple):
    """What a rank does in a round, from when to when: between two events, or in seconds."""

    rank: int
    what: str  # "transfer" or "multiply"
    round: int
    start: Any
    end: Any


class Gpu:
    """Carries out this rank's part of rounds on the current GPU.

    `comm` is MPI's communicator of all ranks, `groups` those that talk to one another: see
    `groups_of`. `spans`: a list, to which what is done is added, with the events around it. The
    work begins when what was queued on the current stream is done, and that waits for its end.
    """

    def __init__(
        self,
        comm: Any,
        groups: Iterable[Group],
        product: Any,
        alpha: float = 1,
        spans: list[Span] | None = None,
    ):
        self.rank = comm.rank
        self.product = product
        self.alpha = alpha
        self.spans = spans
        self.every = tuple(range(comm.size))
        self.communicators = communicators(comm, groups)
        self.number = 0
        self.transfers, *self.products = _streams(gpu.current())
        self.arrived = gpu.event(current())
        self.done = [self.arrived] * STREAMS

    def empty(self, rank: int, size: int) -> Any:
        return gpu.empty(size) if rank == self.rank else None

    def round(self, moves: Sequence[Any], works: Sequence[Any]) -> None:
        before = self.arrived
        self._transfer(moves)
        for work in works:
            number = work.lane % STREAMS
            with self.products[number] as queue:
                queue.wait_event(before)
                start = gpu.event(queue)
                self.product(work.a, work.b, work.c, self.alpha, work.beta)
                self.done[number] = gpu.event(queue)
                self._note("multiply", start, self.done[number])
        self.number += 1

    def _transfer(self, moves: Sequence[Any]) -> None:
        """Queue this rank's transfers of a round as one group, so that none waits for another."""
        for event in self.done:
            self.transfers.wait_event(event)
        start = gpu.event(self.transfers)
        arrays = [{move.rank: move.source, **dict(move.targets)}.get(self.rank) for move in moves]
        mine = [pair for pair in zip(moves, arrays) if pair[1] is not None and pair[1].size]
        with self.transfers:
            wholes = [self._whole(move, array) for move, array in mine]  # kept until NCCL is called
            with grouped() if mine else contextlib.nullcontext():
                for (move, _), whole in zip(mine, wholes):
                    self._call(move, whole)
            for (move, array), whole in zip(mine, wholes):
                if whole is not array and move.rank != self.rank:
                    copy_matrix(array, whole, self.transfers)
        self.arrived = gpu.event(self.transfers)
        if mine:
            self._note("transfer", start, self.arrived)

    def _call(self, move: Any, array: Any) -> None:
        """Tell NCCL of this rank's part: point to point for one target, a broadcast for several."""
        what = array.size, load().NCCL_FLOAT32
        at, queue = gpu.address(array), self.transfers.ptr
        if len(move.targets) > 1:
            group = tuple(sorted((move.rank, *dict(move.targets))))
            self.communicators[group].broadcast(at, at, *what, group.index(move.rank), queue)
        elif move.rank == self.rank:
            self.communicators[self.every].send(at, *what, move.targets[0][0], queue)
        else:
            self.communicators[self.every].recv(at, *what, move.rank, queue)

    def _whole(self, move: Any, array: Any) -> Any:
        """What NCCL can send or receive: part of a matrix goes through an array of its own."""
        if array.flags.c_contiguous:
            return array
        whole = gpu.empty(array.shape)
        if move.rank == self.rank:
            copy_matrix(whole, array, self.transfers)
        return whole

    def _note(self, what: str, start: Any, end: Any) -> None:
        if self.spans is not None:
            self.spans.append(Span(self.rank, what, self.number, start, end))

    def finish(self) -> None:
        """Let the current stream wait for all of it."""
        for event in (self.arrived, *self.done):
            current().wait_event(event)


# ---------------------------------------------------------------------------- NCCL, as CuPy has it


@functools.cache
def load() -> Any:
    """CuPy's module of NCCL. Raises NoGPU, and ImportError with what to install without it."""
    gpu.require()
    # The switches between GPUs can add and copy by themselves (multicast). Nothing is added here,
    # and NCCL would reserve resources of the switches for it, which all GPUs of a machine share.
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    import cupy
    from cupy.cuda import nccl

    if not nccl.available:
        major = cupy.cuda.runtime.runtimeGetVersion() // 1000
        raise ImportError(
            "several GPUs need NCCL, which CuPy cannot load; on Linux it is in the package "
            f"nvidia-nccl-cu{major}: `pip install nvidia-nccl-cu{major}`"
        )
    return nccl


def groups_of(schedule: Schedule) -> list[Group]:
    """The ranks that talk to one another: all, for what has one target, and those of each
    broadcast."""
    every = tuple(range(schedule.ranks))
    broadcasts = (
        tuple(sorted((source, *targets)))
        for now in schedule.rounds
        for _, source, targets in now.transfers
        if len(targets) > 1
    )
    return list(dict.fromkeys([every, *broadcasts] if schedule.ranks > 1 else []))


_made: dict[tuple[int, Group], Any] = {}


def communicators(comm: Any, groups: Iterable[Group]) -> dict[Group, Any]:
    """NCCL's communicators of those groups that this rank is in, made once, which takes a second.

    The first of a group gets an id from NCCL, and MPI carries it to the others. All ranks go
    through the groups in the same order, so that none waits for one that waits for it.
    """
    mine = [group for group in groups if comm.rank in group]
    for group in mine:
        if (comm.rank, group) not in _made:
            members = comm.Create_group(comm.group.Incl(group))
            number = members.bcast(load().get_unique_id() if members.rank == 0 else None)
            made = load().NcclCommunicator(members.size, number, members.rank)
            # Kept beyond Python's end: NCCL destroys one only when all ranks do, and one that fails
            # would wait for the others before MPI ends them.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
            _made[comm.rank, group] = made
    return {group: _made[comm.rank, group] for group in mine}


@contextlib.contextmanager
def grouped() -> Iterator[None]:
    """The calls within are given to NCCL at the end, together: none waits for another."""
    load().groupStart()
    try:
        yield
    finally:
        load().groupEnd()


@functools.cache
def _streams(number: int) -> list[Any]:
    """That for transfers, and those for products; of the current GPU, which has this number."""
    return [stream(URGENT), *(stream() for _ in range(STREAMS))]
