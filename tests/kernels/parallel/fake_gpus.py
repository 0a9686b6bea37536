"""A machine of GPUs that are lists: CuPy as far as `kernels.parallel` uses it, run in any order.

What is queued runs only when something waits for it, and then in a random order of those that
streams, events and NCCL's calls allow. So a missing wait gives a wrong product, sooner or later.
Ranks are threads here, with MPI as far as it is used; only one of them runs at a time.
"""

from __future__ import annotations

import ctypes
import functools
import random
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.parallel import clock, streaming
from kernels.parallel import gpus, processes


class Pointer:
    def __init__(self, array: Array):
        self.array, self.ptr = array, array.__array_interface__["data"][0]

    def memset_async(self, byte: int, size: int) -> None:
        machine().queue(lambda: ctypes.memset(self.ptr, byte, size))

    def copy_from_device(self, other: Pointer, size: int) -> None:
        machine().queue(lambda: ctypes.memmove(self.ptr, other.ptr, size))


class Array(np.ndarray):
    """The memory of a GPU; a copy is queued as anything else is."""

    number = 0

    def __array_finalize__(self, other):
        self.number = getattr(other, "number", 0)

    @property
    def data(self):
        return Pointer(self)

    @property
    def device(self):
        return types.SimpleNamespace(id=self.number)

    def __getitem__(self, key):
        keys = key if isinstance(key, tuple) else (key,)
        if any(isinstance(index, np.ndarray) for index in keys):
            machine().run()
        return super().__getitem__(key)

    def view(self, kind):
        machine().run()
        return super().view(kind)


def empty(shape, dtype=np.float32):
    memory = np.empty(shape, dtype)
    made = memory.view(Array)
    ctypes.memset(made.data.ptr, 0xFF, made.nbytes)
    made.number = machine().current
    # CuPy gives it to others when it is given back, in the order of streams; here nobody gets it
    start = made.data.ptr
    addresses = range(start, start + made.nbytes)
    machine().memory.append((addresses, memory, weakref.ref(made)))
    return made


def array(values, number=None):
    """Values in the memory of a GPU, the current one without a number."""
    made = np.array(values, np.float32, order="C").view(Array)
    made.number = machine().current if number is None else number
    return made


class Event:
    def __init__(self):
        self.passed = True  # as long as it is not recorded

    def record(self, stream=None):
        def happen():
            self.passed, self.time = True, machine().tick()

        self.passed = False
        (stream or machine().stream()).give(happen)


class Stream:
    def __init__(self, null=False, non_blocking=False, ptds=False, priority=None):
        self.waiting: list[tuple[Callable[[], bool], Callable[[], None]]] = []
        self.number = machine().current
        self.ptr = id(self)
        machine().streams.append(self)

    def give(self, work=lambda: None, ready=lambda: True):
        """Work to be done once it is ready."""
        self.waiting.append((ready, work))

    def wait_event(self, event):
        self.give(ready=lambda: event.passed)

    def record(self):
        event = Event()
        event.record(self)
        return event

    def __enter__(self):
        machine().within.append(self)
        return self

    def __exit__(self, *_):
        machine().within.pop()


class Device:
    def __init__(self, number):
        self.number = number

    def __enter__(self):
        machine().devices.append(self.number)

    def __exit__(self, *_):
        machine().devices.pop()


class Machine:
    """Streams of all GPUs, and what they have still to do."""

    def __init__(self, count: int, seed: int):
        self.count = count
        self.random = random.Random(seed)
        self.streams: list[Stream] = []
        self.memory: list[tuple[range, np.ndarray, weakref.ref[Array]]] = []
        self.now = 0.0
        self.within = []
        self.posted: dict[tuple, list[Call]] = {}
        self.told: dict[tuple, dict[int, object]] = {}
        self.own_of_thread = threading.local()
        self.turns = threading.Condition()
        self.turn, self.alive, self.waits = 0, set(), 0

    def tick(self) -> float:
        """The time, which goes on whenever somebody looks."""
        self.now += 1e-3
        return self.now

    @property
    def rank(self) -> int:
        """That of this thread, 0 outside of all."""
        return getattr(self.own_of_thread, "rank", 0)

    @property
    def comm(self) -> Comm:
        """MPI's communicator of all ranks, as this thread has it."""
        return getattr(self.own_of_thread, "comm", None) or Comm((0,), 0)

    @property
    def devices(self) -> list[int]:
        """The GPUs that have been made current, one within the other."""
        mine = self.own_of_thread
        if not hasattr(mine, "devices"):
            mine.devices = [self.rank]
        return mine.devices

    @property
    def current(self) -> int:
        return self.devices[-1]

    def ranks(self, program: Callable[[Comm], object], count: int | None = None) -> list:
        """What a program gives on each rank; the first error if there is one."""
        members = tuple(range(count or self.count))
        results, errors = dict.fromkeys(members), []

        def run(rank: int) -> None:
            self.own_of_thread.rank, self.own_of_thread.comm = rank, Comm(members, rank)
            try:
                self.await_turn()
                results[rank] = program(self.comm)
            except BaseException as error:
                errors.append(error)
            finally:
                self.alive.discard(rank)
                self.pass_on()

        self.turn, self.alive, self.waits = 0, set(members), 0
        threads = [threading.Thread(target=run, args=(rank,)) for rank in members]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return list(results.values())

    def await_turn(self) -> None:
        with self.turns:
            self.turns.wait_for(lambda: self.turn == self.rank)

    def pass_on(self) -> None:
        """Let the next rank go on that is not at its end."""
        with self.turns:
            later = sorted(self.alive, key=lambda rank: (rank <= self.turn, rank))
            self.turn = later[0] if later else -1
            self.turns.notify_all()

    def wait(self, ready: Callable[[], bool]) -> None:
        """Let the other ranks go on until it is ready."""
        while not ready():
            self.waits += 1
            stuck = not self.alive - {self.rank} or self.waits > 3 * self.count
            assert not stuck, "all ranks wait for one another"
            self.pass_on()
            self.await_turn()
        self.waits = 0

    @functools.cache  # noqa: B019
    def own(self, number: int) -> Stream:
        """The stream of a GPU on which everything is queued that names none."""
        self.devices.append(number)
        made = Stream()
        self.devices.pop()
        return made

    def stream(self) -> Stream:
        inside = [stream for stream in self.within if stream.number == self.current]
        return inside[-1] if inside else self.own(self.current)

    def queue(self, work: Callable[[], None], address: int = 0) -> None:
        """Work for the current stream, or that at an address."""
        (self.at(address) if address else self.stream()).give(work)

    def at(self, address: int) -> Stream:
        return next(stream for stream in self.streams if stream.ptr == address)

    def run(self) -> None:
        """Do all that is queued on the current GPU, and of the others what it needs."""
        mine = [stream for stream in self.streams if stream.number == self.current]
        busy = lambda: any(stream.waiting for stream in mine)
        while busy():
            self.wait(lambda: self.step() or not busy())

    def step(self) -> bool:
        """Do one thing that is queued, if there is one that need not wait."""
        ready = [s for s in self.streams if s.waiting and s.waiting[0][0]()]
        if ready:
            _, work = self.random.choice(ready).waiting.pop(0)
            work()
        return bool(ready)

    def require_kept(self, address: int) -> None:
        """What was given back before NCCL is called may be another array's by now."""
        for addresses, _, made in self.memory:
            if address in addresses:
                assert made() is not None, "NCCL is called with memory that was given back"

    def begin_group(self) -> None:
        assert not hasattr(self.own_of_thread, "group"), "a group of calls was not ended"
        self.own_of_thread.group = []

    def call(self, call: Call) -> None:
        """One of a group, or one by itself."""
        calls = getattr(self.own_of_thread, "group", None)
        self.queue_calls([call]) if calls is None else calls.append(call)

    def end_group(self) -> None:
        calls = self.own_of_thread.group
        del self.own_of_thread.group
        if calls:
            self.queue_calls(calls)

    def queue_calls(self, calls: list[Call]) -> None:
        """The calls of a group become one work of their stream. Each ends when those of other ranks
        have come that belong to it."""
        for address in (x for call in calls for x in (call.source, call.target)):
            self.require_kept(address)
        (queue,) = {call.stream for call in calls}
        met: list[list[Call]] = []

        def post() -> None:
            for call in calls:
                all_of_it = self.posted.setdefault(call.name, [])
                all_of_it.append(call)
                met.append(all_of_it)
                if len(all_of_it) == call.parties:
                    self.copy(all_of_it)

        self.at(queue).give(post)
        self.at(queue).give(ready=lambda: all(len(x) == x[0].parties for x in met))

    @staticmethod
    def copy(calls: list[Call]) -> None:
        """What one of the calls sends, all others receive."""
        assert len({call.size for call in calls}) == 1, f"{calls}: not paired"
        for source in (call.source for call in calls if call.source):
            for call in calls:
                if call.target and call.target != source:
                    ctypes.memmove(call.target, source, 4 * call.size)


class Call(NamedTuple):
    """One call of NCCL; so many parties have those of a name. Addresses, 0 where there is none."""

    name: tuple
    parties: int
    source: int
    target: int
    size: int
    stream: int


class Comm:
    """MPI's communicator of some ranks, as one of them has it."""

    def __init__(self, members, rank, within=()):
        self.members, self.size, self.rank = members, len(members), members.index(rank)
        self.name = *within, members
        self.group, self.calls = self, 0

    def Incl(self, ranks):
        return tuple(self.members[rank] for rank in ranks)

    def Create_group(self, members):
        return Comm(members, self.members[self.rank], self.name)

    def allgather(self, mine):
        self.calls += 1
        told = machine().told.setdefault((self.name, self.calls), {})
        told[self.rank] = mine
        machine().wait(lambda: len(told) == self.size)
        return [told[rank] for rank in range(self.size)]

    def gather(self, mine):
        every = self.allgather(mine)
        return every if self.rank == 0 else None

    def bcast(self, value):
        return self.allgather(value)[0]


_machines: list[Machine] = []


def machine() -> Machine:
    return _machines[-1]


class NcclCommunicator:
    """Of one rank of a group. An id is of one group alone."""

    def __init__(self, size, number, rank):
        assert size > 1, "one rank talks to nobody"
        self.size, self.number, self.rank = size, number, rank
        self.counts = {}
        key = "group", number
        machine().told.setdefault(key, {})[rank] = size
        machine().wait(lambda: len(machine().told[key]) == size)

    def _call(self, name, parties, source, target, size, stream):
        """Calls of a name belong together in the order in which they come."""
        self.counts[name] = self.counts.get(name, 0) + 1
        whole = self.number, *name, self.counts[name]
        machine().call(Call(whole, parties, source, target, size, stream))

    def send(self, address, size, kind, peer, stream):
        self._call(("send", self.rank, peer), 2, address, 0, size, stream)

    def recv(self, address, size, kind, peer, stream):
        self._call(("send", peer, self.rank), 2, 0, address, size, stream)

    def broadcast(self, source, target, size, kind, root, stream):
        source = source if self.rank == root else 0
        self._call(("broadcast", root), self.size, source, target, size, stream)

    def allReduce(self, source, target, size, kind, how, stream):
        self._call(("reduce",), self.size, 0, 0, size, stream)


def copy_2d(target, target_pitch, source, source_pitch, width, height, kind, stream):
    def work():
        for row in range(height):
            ctypes.memmove(target + row * target_pitch, source + row * source_pitch, width)

    machine().queue(work, stream)


def install(monkeypatch, count: int, seed: int = 0, nccl: bool = True) -> Machine:
    """Let `import cupy` give this machine until the test ends."""
    made = Machine(count, seed)
    monkeypatch.setattr(sys.modules[__name__], "_machines", [made])
    runtime = types.SimpleNamespace(
        getDeviceCount=lambda: count,
        getDevice=lambda: made.current,
        runtimeGetVersion=lambda: 13000,
        deviceSynchronize=made.run,
        memGetInfo=lambda: (2**30, 2**30),
        hostRegister=lambda *_: None,
        hostUnregister=lambda *_: None,
        pointerGetAttributes=lambda _: types.SimpleNamespace(type=0),
        memcpyHostToDevice=1,
        memcpyDeviceToHost=2,
        memcpyDeviceToDevice=3,
        memcpy2DAsync=copy_2d,
    )
    library = types.SimpleNamespace(
        available=nccl,
        NCCL_FLOAT32=7,
        NCCL_SUM=0,
        NcclCommunicator=NcclCommunicator,
        get_unique_id=lambda: made.random.random(),
        groupStart=made.begin_group,
        groupEnd=made.end_group,
        get_version=lambda: 22800,
    )
    cuda = types.ModuleType("cupy.cuda")
    vars(cuda).update(
        Device=Device,
        Stream=Stream,
        Event=Event,
        runtime=runtime,
        nccl=library,
        get_current_stream=lambda: made.stream(),
        get_elapsed_time=lambda start, end: 1e3 * (end.time - start.time),
    )
    cupy, cupyx = types.ModuleType("cupy"), types.ModuleType("cupyx")
    vars(cupyx).update(empty_pinned=np.empty)

    def to_host(x):
        made.run()
        return np.array(x)

    vars(cupy).update(ndarray=Array, empty=empty, cuda=cuda, asnumpy=to_host)
    monkeypatch.setattr(processes, "world", lambda: made.comm)
    for module in (cupy, cupyx, cuda):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    forget()
    return made


def forget() -> None:
    """Of the machine before, what is kept from call to call."""
    gpus._made.clear()
    for kept in (gpus.load, gpus._streams, clock._scratch, streaming._matrices):
        kept.cache_clear()


def queued(a, b, c, alpha, beta):
    """A product on the current stream."""

    def work():
        product = np.asarray(a, np.float64) @ np.asarray(b, np.float64)
        c[...] = alpha * product + (beta * np.asarray(c) if beta else 0)

    machine().queue(work)
