"""A machine of GPUs that are lists: CuPy as far as `kernels.parallel` uses it, run in any order.

What is queued runs only when something waits for it, and then in a random order of those that
streams, events and NCCL's groups allow. So a missing wait gives a wrong product, sooner or later.
"""

from __future__ import annotations

import ctypes
import functools
import random
import sys
import types
import weakref
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.parallel import clock, many_gpus, streaming
from kernels.parallel import gpus, nccl


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


def array(values, number):
    """Values in the memory of a GPU."""
    made = np.array(values, np.float32, order="C").view(Array)
    made.number = number
    return made


class Event:
    def __init__(self):
        self.passed = True  # as long as it is not recorded

    def record(self, stream=None):
        def happen():
            self.passed, self.time = True, machine().tick()

        self.passed = False
        (stream or machine().stream()).give(happen)

    @property
    def done(self):
        """Whoever looks gives the machine time."""
        machine().step()
        return self.passed


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
        self.devices, self.within = [0], []
        self.group: list[Call] | None = None
        self.fault = ""  # "hangs": transfers never end; "fails": NCCL says so when it is called;
        # "reports": when it is asked

    def tick(self) -> float:
        """The time, which goes on whenever somebody looks."""
        self.now += 1e-3
        return self.now

    @property
    def current(self) -> int:
        return self.devices[-1]

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
        """Do all that is queued."""
        while any(stream.waiting for stream in self.streams):
            assert self.step(), "all streams wait for one another"

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
        assert self.group is None, "a group of calls was not ended"
        self.group = []

    def end_group(self) -> None:
        """The calls of a group become one work, for which all their streams meet."""
        assert self.group is not None, "no group was begun"
        calls, self.group = self.group, None
        if self.fault == "fails" and calls:
            raise NcclError("NCCL_ERROR_SYSTEM_ERROR")
        for address in (x for call in calls for x in (call.source, call.target)):
            self.require_kept(address)
        copies = []
        for name in dict.fromkeys(call.name for call in calls):
            out = [call for call in calls if call.name == name and call.source]
            into = [call for call in calls if call.name == name and call.target]
            if name[0] == "broadcast":
                out *= len(into)
            assert [of.size for of in out] == [to.size for to in into], f"{name}: not paired"
            copies += [(to.target, of.source, of.size) for of, to in zip(out, into)]
        streams = [self.at(number) for number in dict.fromkeys(call.stream for call in calls)]
        met: list[Stream] = []
        passes = lambda: len(met) == len(streams) and self.fault != "hangs"

        def meet(stream: Stream) -> None:
            met.append(stream)
            if passes():
                for target, source, size in copies:
                    ctypes.memmove(target, source, 4 * size)

        for stream in streams:
            stream.give(functools.partial(meet, stream))
            stream.give(ready=passes)


class Call(NamedTuple):
    """One call of NCCL; those of a name belong together. Addresses, 0 where there is none."""

    name: tuple
    source: int
    target: int
    size: int
    stream: int
    caller: int = -1


_machines: list[Machine] = []


def machine() -> Machine:
    return _machines[-1]


class NcclError(RuntimeError):
    pass


class NcclCommunicator:
    """Of one rank of a group of GPUs."""

    def __init__(self, devices, rank):
        self.devices, self.rank, self.aborted = tuple(devices), rank, False

    def check_async_error(self):
        if machine().fault == "reports":
            raise NcclError("NCCL_ERROR_REMOTE_ERROR")

    def abort(self):
        assert not self.aborted
        self.aborted = True
        machine().fault = ""

    @staticmethod
    def initAll(devices):
        assert machine().group is None, "NCCL makes no communicators within a group of calls"
        return [NcclCommunicator(devices, rank) for rank in range(len(devices))]

    def send(self, address, size, kind, peer, stream):
        name = "send", self.devices, self.rank, peer
        machine().group.append(Call(name, address, 0, size, stream))

    def recv(self, address, size, kind, peer, stream):
        name = "send", self.devices, peer, self.rank
        machine().group.append(Call(name, 0, address, size, stream))

    def calls(self):
        """Those of this rank in the group that is open."""
        return [call for call in machine().group if call.caller == self.rank]

    def broadcast(self, source, target, size, kind, root, stream):
        before = sum(call.name[:3] == ("broadcast", self.devices, root) for call in self.calls())
        name = "broadcast", self.devices, root, before  # the same of all ranks belong together
        source = source if self.rank == root else 0
        machine().group.append(Call(name, source, target, size, stream, self.rank))


def copy_2d(target, target_pitch, source, source_pitch, width, height, kind, stream):
    def work():
        for row in range(height):
            ctypes.memmove(target + row * target_pitch, source + row * source_pitch, width)

    machine().queue(work, stream)


def copy_to_peer(target, there, source, here, size, stream):
    machine().queue(lambda: ctypes.memmove(target, source, size), stream)


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
        deviceCanAccessPeer=lambda *_: 1,
        deviceEnablePeerAccess=lambda _: None,
        CUDARuntimeError=RuntimeError,
        memcpyPeerAsync=copy_to_peer,
        memcpyHostToDevice=1,
        memcpyDeviceToHost=2,
        memcpyDeviceToDevice=3,
        memcpy2DAsync=copy_2d,
    )
    library = types.SimpleNamespace(
        available=nccl,
        NCCL_FLOAT32=7,
        NcclCommunicator=NcclCommunicator,
        NcclError=NcclError,
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
    for module in (cupy, cupyx, cuda):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    forget()
    return made


def forget() -> None:
    """Of the machine before, what is kept from call to call."""
    nccl._made.clear()
    for kept in (
        nccl.load,
        gpus._streams,
        clock._scratch,
        streaming._matrices,
        many_gpus._reach,
    ):
        kept.cache_clear()


def queued(a, b, c, alpha, beta):
    """A product on the current stream."""

    def work():
        product = np.asarray(a, np.float64) @ np.asarray(b, np.float64)
        c[...] = alpha * product + (beta * np.asarray(c) if beta else 0)

    machine().queue(work)
