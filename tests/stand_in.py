"""GPUs that do not exist: what stands in for the driver, in tests.

`StandIn` has the host's memory and a clock that is a number. Of it there are `SimulatedGPU`, whose
launches take what a table says, `MadeUp`, which compiles for a compute capability and interprets,
and `FakeGpu`, which remembers launches on CuPy's arrays. `kernels/parallel/fake_gpus.py` stands in
for CuPy itself.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from anywarp import gpu
from anywarp.analysis.occupancy import SMS, occupancy
from anywarp.gpu import nvidia_smi
from anywarp.kernel import Kernel
from kernels.ladder import running
from kernels.ladder.product.product import Product
from kernels.ladder.step import Step
from kernels.measure import bench, cublas

MULTIPROCESSORS = 40
TFLOPS = {"fma_peak": 8.0, "cublas": 6.0}  # made up; of each kernel of a step, 3
GBS = {"copy": 250.0, "shared": 4000.0}
RESIDENT = 16 * 4000 * 8 * 256 * 24 * MULTIPROCESSORS  # bytes that `read_shared` reads
KINDS = {"i": ctypes.c_int32, "f": ctypes.c_float, "P": ctypes.c_uint64, "M": ctypes.c_char * 128}


def device(of: str, **facts: Any) -> gpu.Device:
    """A GPU of compute capability `of`, such as "7.5", with other facts where they are given."""
    major, minor = map(int, of.split("."))
    usual = gpu.Device(
        name=f"made-up GPU {of}",
        compute_capability=(major, minor),
        multiprocessors=MULTIPROCESSORS,
        clock_mhz=1500.0,
        l2_bytes=4 << 20,
        memory_bytes=16 << 30,
        shared_bytes_per_block=SMS[of].shared_block,
        driver="1",
        cuda_driver="13.0",
        cuda_runtime="12.9",
        nvrtc="12.9",
        cupy="14.0",
    )
    return replace(usual, **facts)


class StandIn:
    """A GPU whose memory is the host's; `clock` is the time, in milliseconds."""

    functions: tuple[str, ...] = (
        "empty", "to_device", "to_host", "fill_bytes", "copy", "event", "elapsed_ms",
        "synchronize", "load", "launch",
    )  # fmt: skip

    def __init__(self, of: str = "9.0", **facts: Any):
        self.number, self.clock = 0, 0.0
        self.be(of, **facts)

    def be(self, of: str, **facts: Any) -> None:
        """A GPU of another compute capability, such as "8.0", or with other facts."""
        self.facts = device(of, **facts)

    def install(self, change: Callable[[Any, str, Any], None] = setattr) -> None:
        """Put it in the place of the driver."""
        for name in self.functions:
            change(gpu, name, getattr(self, name))
        change(gpu, "why_not", lambda: None)
        change(gpu, "device", lambda: self.device())
        change(gpu, "arch", lambda: "sm_{}{}".format(*self.device().compute_capability))
        change(gpu, "current", lambda: self.number)
        change(nvidia_smi, "status", lambda: self.status())
        change(cublas, "version", lambda: "1.2.3")

    def device(self) -> gpu.Device:
        return self.facts

    def status(self) -> nvidia_smi.Status:
        return nvidia_smi.Status("1", 1500.0, ())

    def load(self, cubin: bytes, symbol: str) -> Any:
        assert cubin.startswith(b"\x7fELF")
        return gpu.Loaded(symbol, SimpleNamespace(ptr=0))

    def empty(self, shape: Any, dtype: Any = np.float32) -> Any:
        return np.empty(shape, dtype)

    def to_device(self, x: np.ndarray) -> np.ndarray:
        return x.copy(order="K")

    def to_host(self, x: np.ndarray) -> np.ndarray:
        return np.array(x)

    def fill_bytes(self, x: np.ndarray, byte: int) -> None:
        x.view(np.uint8)[:] = byte

    def copy(self, target: np.ndarray, source: np.ndarray) -> None:
        target[:] = source

    def synchronize(self) -> None:
        pass

    def event(self) -> float:
        return self.clock

    def elapsed_ms(self, start: float, end: float) -> float:
        return end - start


class MadeUp(StandIn):
    """Compiles for its compute capability, refuses what it lacks, and interprets. `timed` has what
    was launched to be timed, by the kernel's symbol; `run` what was run to be right."""

    def __init__(self, of: str):
        super().__init__(of)
        self.timed: list[str] = []
        self.run: list[str] = []
        self.products: dict[tuple[int, int], np.ndarray] = {}

    def install(self, change: Callable[[Any, str, Any], None] = setattr) -> None:
        super().install(change)
        change(cublas, "sgemm", self.by_cublas)
        change(bench, "MIN_SECONDS", 0.0)
        change(bench, "MIN_REPEATS", 3)
        change(running, "_on_gpu", self.step)
        change(Kernel, "_on_gpu", lambda kernel, *launch: self.kernel(kernel, *launch))

    # ------------------------------------------------------------------ what runs

    def kernel(
        self, one: Kernel, grid: Any, block: Any, values: Sequence[Any], shared: int
    ) -> None:
        self.fits(one, block, shared)
        self.run.append(one.symbol)
        one.launch(grid, block, values, "interpreter", shared)

    def step(self, one: Step, product: Product) -> None:
        for launch in one.launches(*product.shape):
            self.fits(one.kernels[launch.kernel], launch.block, launch.shared)
        self.run.append(one.label)
        running.run(one, product._replace(where="interpreter"))

    def fits(self, one: Kernel, block: Sequence[int], shared: int) -> None:
        """Compile for this GPU, and raise what its driver would for a block that it cannot have."""
        one.cubin(gpu.arch())
        used = one.resources(gpu.arch())
        occupancy(used, int(np.prod(block)), self.facts.compute_capability, shared)

    # ------------------------------------------------------------------ what is timed

    def launch(
        self, kernel: gpu.Loaded, grid: Any, block: Any, args: Sequence[Any], shared: int = 0
    ) -> None:
        symbol = kernel.symbol
        self.timed.append(symbol)
        if symbol in ("nothing", "fma_peak"):
            flops = 2 * 8 * 64 * 683 * grid[0] * block[0] * (symbol == "fma_peak")
            self.clock += flops / (TFLOPS["fma_peak"] * 1e9) + 0.002
        elif "read_shared" in symbol:
            self.clock += RESIDENT / (GBS["shared"] * 1e6)
        else:
            self.product(*args[4:6], args[7])
            self.clock += 2.0 * int(args[0]) * int(args[1]) * int(args[2]) / 3e9

    def by_cublas(self, A: Any, B: Any, C: Any) -> None:
        self.product(A, B, C)
        self.clock += 2.0 * A.shape[0] * A.shape[1] * B.shape[1] / (TFLOPS["cublas"] * 1e9)

    def product(self, A: np.ndarray, B: np.ndarray, C: np.ndarray) -> None:
        """Multiplied once: the timed launches only take time."""
        key = A.ctypes.data, B.ctypes.data
        if key not in self.products:
            self.products = {key: A @ B}
        if not np.isfinite(C[0, 0]):
            C[:] = self.products[key]

    def copy(self, target: np.ndarray, source: np.ndarray) -> None:
        self.clock += 2 * source.nbytes / (GBS["copy"] * 1e6)

    def fill_bytes(self, x: np.ndarray, byte: int) -> None:
        if x.nbytes < 2**28:  # those of the roofs are as large as a GPU's memory
            x.view(np.uint8)[:] = byte


def cupy_array(shape, address=4096, device=0):
    """A CuPy array that stands at an address."""
    cupy = pytest.importorskip("cupy")
    size = 4 * int(np.prod(shape))
    memory = cupy.cuda.UnownedMemory(address, size, owner=None, device_id=device)
    return cupy.ndarray(shape, np.float32, cupy.cuda.MemoryPointer(memory, 0))


class FakeGpu(StandIn):
    """`launched` has the symbol, grid, block, bytes of shared memory, stream and arguments of
    each launch of kernels that take `kinds`, see `running.ready`."""

    functions = ("load", "empty", "allocate")

    def __init__(self, monkeypatch, kinds="iiifPPfP"):
        super().__init__("9.0", name="Simulated GPU 1", multiprocessors=132)
        self.kinds, self.current_stream = kinds, 0
        self.launched, self.loaded, self.rooms = [], [], []  # rooms: what was allocated
        self.install(monkeypatch.setattr)
        monkeypatch.setattr(gpu, "stream", lambda: self.current_stream)
        monkeypatch.setattr(gpu, "launcher", lambda: self.launch)
        monkeypatch.setattr(gpu, "driver_errors", lambda: ZeroDivisionError)
        monkeypatch.setattr(gpu, "allow_dynamic_shared", lambda kernel, wanted: None)

    def load(self, cubin, symbol):
        assert cubin.startswith(b"\x7fELF")
        self.loaded.append((self.number, symbol))
        return gpu.Loaded(symbol, SimpleNamespace(ptr=len(self.loaded) - 1))

    def empty(self, shape, dtype=np.float32):
        return cupy_array(shape, self.allocate(4 * int(np.prod(shape))).ptr, self.number)

    def allocate(self, size):
        self.rooms.append(SimpleNamespace(size=size, ptr=(len(self.rooms) + 1) << 40))
        return self.rooms[-1]

    def launch(self, function, *words):
        *size, shared, stream, places, extra = words
        assert extra == 0
        pointers = (ctypes.c_uint64 * len(self.kinds)).from_address(places)
        values = tuple(KINDS[k].from_address(p).value for k, p in zip(self.kinds, pointers))
        number, symbol = self.loaded[function]
        assert number == self.number
        self.launched.append((symbol, tuple(size[:3]), tuple(size[3:]), shared, stream, values))


class SimulatedGPU(StandIn):
    """Its launches take what `ms` says, by name; `wrong` may spoil a product."""

    def __init__(self, monkeypatch, **facts):
        small = {"multiprocessors": 1, "l2_bytes": 2**10, "shared_bytes_per_block": 2**16}
        super().__init__("9.0", **{"name": "Simulated GPU 1", **small, **facts})
        self.log = []
        self.empties = []  # (shape, dtype) of what was asked for
        self.launched = []  # (symbol, grid, block, arguments, bytes of dynamic shared memory)
        self.copied = []  # bytes
        self.ms = {"cublas": 1.0, "copy": 1.0, "fma_peak": 1.0, "nothing": 0.001}
        self.wrong = lambda name, C: None
        self.install(monkeypatch.setattr)
        monkeypatch.setattr(cublas, "sgemm", self.cublas_sgemm)
        monkeypatch.setattr(bench, "MIN_SECONDS", 0.0)

    def run(self, name):
        self.log.append(name)
        self.clock += self.ms[name]

    def status(self):
        time.sleep(0.05)  # nvidia-smi takes a while; rounds go on meanwhile
        return nvidia_smi.Status("1", 1234.0, ("sw_power_cap",))

    def empty(self, shape, dtype=np.float32):
        self.empties.append((shape, np.dtype(dtype)))
        # The buffers of the roofs are as large as a GPU's memory; one byte will do here.
        return np.zeros(1 if isinstance(shape, int) else shape, dtype)

    def fill_bytes(self, x, byte):
        if x.ndim == 2:
            x.view(np.uint8)[:] = byte
        else:
            self.log.append("flush")

    def copy(self, target, source):
        self.copied.append(source.nbytes)
        self.run("copy")

    def synchronize(self):
        self.log.append("synchronize")

    def cublas_sgemm(self, A, B, C):
        assert all(matrix.flags.c_contiguous for matrix in (A, B, C))
        if np.isnan(C[0, 0]):  # to be checked, not timed
            C[:] = A @ B
        self.run("cublas")

    def launch(self, kernel, grid, block, args, shared_mem=0):
        symbol = kernel.symbol
        self.launched.append((symbol, grid, block, args, shared_mem))
        if len(args) == 8:
            M, N, K, alpha, A, B, beta, C = args
            assert (M, K) == A.shape and (K, N) == B.shape and (alpha, beta) == (1, 0)
            C[:] = A @ B
            self.wrong(symbol, C)
        self.run(symbol)
