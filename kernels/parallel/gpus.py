"""Ranks that are GPUs of this machine, in one process, with NCCL between them.

Each GPU has three streams: one for what it sends and receives, two for products that do not depend
on one another, so that the first blocks of one fill the SMs that the last blocks of the other leave
idle. Events between them say what the rounds of a schedule mean: the transfers of a round wait for
all of the round before, the products for its transfers. Nothing waits for Python, which runs ahead.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from anywarp import gpu
from anywarp.gpu.queues import copy_matrix, count, current, device, stream

from . import nccl

STREAMS = 2  # streams for products
URGENT = -5  # priority of transfers, the lower the sooner; CUDA takes the nearest that there is


class Span(NamedTuple):
    """What a rank does in a round, from when to when: between two events, or in seconds."""

    rank: int
    what: str  # "transfer" or "multiply"
    round: int
    start: Any
    end: Any


class Queues:
    """The streams of a GPU, and the events that end what was last queued on them."""

    def __init__(self, number: int):
        self.device = number
        with device(number):
            self.transfers, *self.products = _streams(number)
            begin = gpu.event(current())
            for queue in (self.transfers, *self.products):
                queue.wait_event(begin)
        self.arrived, self.done = begin, [begin] * STREAMS


class Gpus:
    """Carries out rounds on the GPUs with these numbers, in the order of the ranks.

    `spans`: a list, to which what is done is added, with the events around it. The work begins
    when what was queued on the GPUs' current streams is done, and those wait for its end; with a
    `timeout`, in seconds, Python waits too, and gives up after so long: see `nccl.wait`.
    """

    def __init__(
        self,
        devices: Sequence[int],
        product: Any,
        alpha: float = 1,
        spans: list[Span] | None = None,
        timeout: float | None = None,
    ):
        self.devices = tuple(devices)
        self.product = product
        self.alpha = alpha
        self.spans = spans
        self.timeout = timeout
        require(self.devices)
        several = len(self.devices) > 1
        self.communicators = nccl.communicators(self.devices) if several else []
        self.number = 0
        self.queues = [Queues(number) for number in self.devices]

    def empty(self, rank: int, size: int) -> Any:
        with device(self.devices[rank]):
            return gpu.empty(size)

    def round(self, moves: Sequence[Any], works: Sequence[Any]) -> None:
        before = [own.arrived for own in self.queues]
        self._transfer(moves)
        for work in works:
            own = self.queues[work.rank]
            number = work.lane % STREAMS
            with device(own.device), own.products[number] as queue:
                queue.wait_event(before[work.rank])
                start = gpu.event(queue)
                self.product(work.a, work.b, work.c, self.alpha, work.beta)
                own.done[number] = gpu.event(queue)
                self._note(work.rank, "multiply", start, own.done[number])
        self.number += 1

    def _transfer(self, moves: Sequence[Any]) -> None:
        """Queue the transfers of a round as one group, so that none waits for another."""
        busy = {rank for move in moves for rank in (move.rank, *dict(move.targets))}
        starts = {}
        for rank, own in enumerate(self.queues):
            with device(own.device):
                for event in own.done:
                    own.transfers.wait_event(event)
                starts[rank] = gpu.event(own.transfers)
        moves = [move for move in moves if move.source.size]
        sources = [self._contiguous(move) for move in moves]  # kept until NCCL has been called
        calls = [call for pair in zip(moves, sources) for call in self._calls(*pair)]
        if calls:
            with nccl.group():
                for call in calls:
                    call()
        for rank, own in enumerate(self.queues):
            with device(own.device):
                own.arrived = gpu.event(own.transfers)
            if rank in busy:
                self._note(rank, "transfer", starts[rank], own.arrived)

    def _calls(self, move: Any, source: Any) -> list[Any]:
        """What NCCL is to be called with to send `source`, of each GPU that takes part: point to
        point for one target, a broadcast for several. Groups of GPUs are made now, which NCCL
        cannot do later, in a group of calls."""
        arrays = {move.rank: source, **dict(move.targets)}
        size, kind = source.size, nccl.load().NCCL_FLOAT32
        at = {rank: gpu.address(array) for rank, array in arrays.items()}
        queue = {rank: self.queues[rank].transfers.ptr for rank in arrays}
        here = move.rank
        if len(move.targets) == 1:
            ((there, _),) = move.targets
            send, receive = self.communicators[here].send, self.communicators[there].recv
            return [
                functools.partial(send, at[here], size, kind, there, queue[here]),
                functools.partial(receive, at[there], size, kind, here, queue[there]),
            ]
        group = sorted(arrays)
        members = nccl.communicators(tuple(self.devices[rank] for rank in group))
        root = group.index(here)
        return [
            functools.partial(member.broadcast, at[here], at[rank], size, kind, root, queue[rank])
            for member, rank in zip(members, group)
        ]

    def _contiguous(self, move: Any) -> Any:
        """What NCCL can send: part of a matrix is copied together first."""
        if move.source.flags.c_contiguous:
            return move.source
        own = self.queues[move.rank]
        with device(own.device), own.transfers:
            whole = gpu.empty(move.source.shape)
            copy_matrix(whole, move.source, own.transfers)
            return whole

    def _note(self, rank: int, what: str, start: Any, end: Any) -> None:
        if self.spans is not None:
            self.spans.append(Span(rank, what, self.number, start, end))

    def finish(self) -> None:
        """Let the current stream of each GPU wait for its part, and Python, with a timeout, too.
        Raises TimeoutError."""
        for own in self.queues:
            with device(own.device):
                for event in (own.arrived, *own.done):
                    current().wait_event(event)
        if self.timeout is not None:
            ends = [event for own in self.queues for event in (own.arrived, *own.done)]
            nccl.wait(ends, self.timeout)


def require(devices: Sequence[int]) -> None:
    """Raise unless these are different GPUs that there are, and NCCL is there for several."""
    there = count()
    if len(set(devices)) < len(devices):
        raise ValueError(
            f"the parts are on the GPUs {', '.join(map(str, devices))}: each rank needs one of "
            "its own"
        )
    if max(devices) >= there:
        raise gpu.NoGPU(
            f"GPU {max(devices)} is asked for, and there are {there}; NumPy parts are multiplied "
            "by ranks in this process, without any"
        )
    if len(devices) > 1:
        nccl.load()


@functools.cache
def _streams(number: int) -> list[Any]:
    """That for transfers, and those for products; of the current GPU, which has this number."""
    return [stream(URGENT), *(stream() for _ in range(STREAMS))]
