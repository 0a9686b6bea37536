"""A GPU that remembers what is launched on it. Its arrays are CuPy's, at addresses where nothing
is; nobody may touch them."""

from __future__ import annotations

import ctypes
import types
from dataclasses import replace

import numpy as np
import pytest

from anywarp import gpu
from tests import made_up

KINDS = {"i": ctypes.c_int32, "f": ctypes.c_float, "P": ctypes.c_uint64}


def cupy_array(shape, address=4096, device=0):
    """A CuPy array that stands at an address."""
    cupy = pytest.importorskip("cupy")
    size = 4 * int(np.prod(shape))
    memory = cupy.cuda.UnownedMemory(address, size, owner=None, device_id=device)
    return cupy.ndarray(shape, np.float32, cupy.cuda.MemoryPointer(memory, 0))


class FakeGpu:
    """`launched` has the symbol, grid, block, bytes of shared memory, stream and arguments of
    each launch of kernels that take `kinds`, see `run.ready`."""

    def __init__(self, monkeypatch, kinds="iiifPPfP"):
        self.kinds, self.number, self.current_stream = kinds, 0, 0
        self.launched, self.loaded, self.rooms = [], [], []  # rooms: what was allocated
        self.be("9.0", name="Simulated GPU 1", multiprocessors=132)
        for name in ("load", "empty", "allocate"):
            monkeypatch.setattr(gpu, name, getattr(self, name))
        monkeypatch.setattr(gpu, "why_not", lambda: None)
        monkeypatch.setattr(gpu, "device", lambda: self.facts)
        monkeypatch.setattr(gpu, "arch", lambda: "sm_90")
        monkeypatch.setattr(gpu, "current", lambda: self.number)
        monkeypatch.setattr(gpu, "stream", lambda: self.current_stream)
        monkeypatch.setattr(gpu, "launcher", lambda: self.launch)
        monkeypatch.setattr(gpu, "driver_errors", lambda: ZeroDivisionError)
        monkeypatch.setattr(gpu, "allow_dynamic_shared", lambda kernel, wanted: None)

    def be(self, of, **facts):
        """A GPU of another compute capability, such as "8.0", or with other facts."""
        self.facts = replace(made_up.device(of), **facts)

    def load(self, cubin, symbol):
        assert cubin.startswith(b"\x7fELF")
        self.loaded.append((self.number, symbol))
        return gpu.Loaded(symbol, types.SimpleNamespace(ptr=len(self.loaded) - 1))

    def empty(self, shape, dtype=np.float32):
        return cupy_array(shape, self.allocate(4 * int(np.prod(shape))).ptr, self.number)

    def allocate(self, size):
        self.rooms.append(types.SimpleNamespace(size=size, ptr=(len(self.rooms) + 1) << 40))
        return self.rooms[-1]

    def launch(self, function, *words):
        *size, shared, stream, places, extra = words
        assert extra == 0
        pointers = (ctypes.c_uint64 * len(self.kinds)).from_address(places)
        values = tuple(KINDS[k].from_address(p).value for k, p in zip(self.kinds, pointers))
        number, symbol = self.loaded[function]
        assert number == self.number
        self.launched.append((symbol, tuple(size[:3]), tuple(size[3:]), shared, stream, values))
