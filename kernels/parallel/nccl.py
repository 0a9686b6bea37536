"""Ranks that are GPUs of this machine, in one process, with NCCL between them.

Each GPU has three streams: one for what it sends and receives, two for products that do not depend
on one another, so that the first blocks of one fill the SMs that the last blocks of the other leave
idle. Events between them say what the rounds of a schedule mean: the transfers of a round wait for
all of the round before, the products for its transfers. Nothing waits for Python, which runs ahead.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..run import gpu

LANES = 2  # streams for products
URGENT = -5  # priority of transfers, the lower the sooner; CUDA takes the nearest that there is


class Span(NamedTuple):
    """What a rank did in a round, between two events."""

    rank: int
    what: str  # "transfer" or "multiply"
    round: int
    start: Any
    end: Any


class Gpus:
    """Carries out rounds on the GPUs with these numbers, in the order of the ranks.

    `spans`: a list, to which what is done is added, with the events around it. The work begins
    when what was queued on the GPUs' current streams is done, and those wait for its end.
    """

    def __init__(
        self,
        devices: Sequence[int],
        product: Any,
        alpha: float = 1,
        spans: list[Span] | None = None,
    ):
        self.devices = tuple(devices)
        self.product = product
        self.alpha = alpha
        self.spans = spans
        require(self.devices)
        self.communicators = communicators(self.devices)
        self.number = 0
        self.queues = {rank: Queues(number) for rank, number in enumerate(self.devices)}

    def empty(self, rank: int, size: int) -> Any:
        with device(self.devices[rank]):
            return gpu.empty(size)

    def round(self, moves: Sequence[Any], works: Sequence[Any]) -> None:
        before = {rank: queues.arrived for rank, queues in self.queues.items()}
        busy = {move.rank for move in moves}
        busy |= {rank for move in moves for rank, _ in move.targets}
        self._transfer(moves, busy)
        for work in works:
            queues = self.queues[work.rank]
            with device(queues.device):
                stream = queues.products[work.lane % LANES]
                stream.wait_event(before[work.rank])
                start = queues.mark(stream)
                with stream:
                    self.product(work.a, work.b, work.c, self.alpha, work.beta)
                queues.done[work.lane % LANES] = end = queues.mark(stream)
                self._note(work.rank, "multiply", start, end)
        self.number += 1

    def _transfer(self, moves: Sequence[Any], busy: set[int]) -> None:
        """Queue the transfers of a round as one group, so that none waits for another."""
        starts = {}
        for rank, queues in self.queues.items():
            with device(queues.device):
                for event in queues.done:
                    queues.transfers.wait_event(event)
                starts[rank] = queues.mark(queues.transfers)
        if moves:
            sources = [self._contiguous(move) for move in moves]
            nccl = load()
            nccl.groupStart()
            try:
                for move, source in zip(moves, sources):
                    self._send(move, source)
            finally:
                nccl.groupEnd()
        for rank, queues in self.queues.items():
            with device(queues.device):
                queues.arrived = queues.mark(queues.transfers)
            if rank in busy:
                self._note(rank, "transfer", starts[rank], queues.arrived)

    def _contiguous(self, move: Any) -> Any:
        """What NCCL can send: part of a matrix is copied together first."""
        queues = self.queues[move.rank]
        with device(queues.device), queues.transfers:
            return move.source if move.source.flags.c_contiguous else move.source.copy()

    def _send(self, move: Any, source: Any) -> None:
        """Point to point for one target, a broadcast for several."""
        size, kind = source.size, load().NCCL_FLOAT32
        if size == 0:
            return
        stream = lambda rank: self.queues[rank].transfers.ptr
        if len(move.targets) == 1:
            ((target, array),) = move.targets
            send, receive = self.communicators[move.rank], self.communicators[target]
            send.send(gpu.address(source), size, kind, target, stream(move.rank))
            receive.recv(gpu.address(array), size, kind, move.rank, stream(target))
            return
        arrays = {move.rank: source, **dict(move.targets)}
        group = sorted(arrays)
        members = communicators(tuple(self.devices[rank] for rank in group))
        root, begin = group.index(move.rank), gpu.address(source)
        for member, rank in zip(members, group):
            end = gpu.address(arrays[rank])
            member.broadcast(begin, end, size, kind, root, stream(rank))

    def _note(self, rank: int, what: str, start: Any, end: Any) -> None:
        if self.spans is not None:
            self.spans.append(Span(rank, what, self.number, start, end))

    def finish(self) -> None:
        """Let the current stream of each GPU wait for its part."""
        for queues in self.queues.values():
            with device(queues.device):
                for event in (queues.arrived, *queues.done):
                    current_stream().wait_event(event)


class Queues:
    """The streams of a GPU, and the events that end what was last queued on them."""

    def __init__(self, number: int):
        self.device = number
        with device(number):
            self.transfers, *self.products = _streams(number)
            begin = self.mark(current_stream())
            for stream in (self.transfers, *self.products):
                stream.wait_event(begin)
            self.arrived, self.done = begin, [begin] * LANES

    def mark(self, stream: Any) -> Any:
        """An event at what the stream has been given so far."""
        import cupy

        event = cupy.cuda.Event()
        event.record(stream)
        return event


def count() -> int:
    """GPUs of this machine. Raises NoGPU."""
    gpu.require()
    import cupy

    there: int = cupy.cuda.runtime.getDeviceCount()
    return there


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
            f"GPU {max(devices)} is asked for and there are {there}; NumPy parts are multiplied "
            "without any"
        )
    if len(devices) > 1:
        load()


@functools.cache
def load() -> Any:
    """CuPy's module of NCCL. Raises ImportError, with what to install, without it."""
    import cupy

    # NCCL can let the switches between GPUs add and copy (multicast). Nothing is added here, and
    # its set-up reserves memory of the switches, which other users of the machine may need.
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    from cupy.cuda import nccl

    if not nccl.available:
        major = cupy.cuda.runtime.runtimeGetVersion() // 1000
        raise ImportError(
            "several GPUs need NCCL, which CuPy cannot load: on Linux, "
            f"`pip install nvidia-nccl-cu{major}`"
            + ("" if sys.platform == "linux" else f"; there is none for {sys.platform}")
        )
    return nccl


@functools.cache
def communicators(devices: tuple[int, ...]) -> list[Any]:
    """A communicator for each of the GPUs, all of one group; made once, which takes a second."""
    return load().NcclCommunicator.initAll(list(devices)) if len(devices) > 1 else []


@functools.cache
def _streams(number: int) -> list[Any]:
    """That for transfers, and those for products; of the current device, which is this one."""
    import cupy

    return [
        cupy.cuda.Stream(non_blocking=True, priority=URGENT),
        *(cupy.cuda.Stream(non_blocking=True) for _ in range(LANES)),
    ]


def device(number: int) -> Any:
    import cupy

    return cupy.cuda.Device(number)


def current_stream() -> Any:
    import cupy

    return cupy.cuda.get_current_stream()
