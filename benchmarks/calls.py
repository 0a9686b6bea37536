"""What a call costs in Python: a Kernel, a step and `sgemm`, on arrays that are on the GPU.

    python benchmarks/calls.py [--repeat 2000]

Without a GPU the driver's launch does nothing and a class of a few lines stands for CuPy's arrays,
so that what is timed is this project's own Python. With one, the launches are real, of matrices so
small that the GPU is done before the next call. Prints the median of each, in microseconds.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import statistics
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import kernels
from anywarp import gpu

SIDE = 64  # of the matrices
SCALE = """extern "C" __global__ void scale(float* x, const float* y, int n, float a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = a * y[i];
}"""

STUB = gpu.Device(
    name="stub",
    compute_capability=(9, 0),
    multiprocessors=132,
    clock_mhz=1980.0,
    l2_bytes=60 << 20,
    memory_bytes=140 << 30,
    shared_bytes_per_block=227 << 10,
    driver=None,
    cuda_driver="13.0",
    cuda_runtime="13.0",
    nvrtc="13.0",
    cupy="none",
)


class Array:
    """What the calls look at of a CuPy array; `data` is the pointer."""

    __dlpack__ = None  # it shares its memory

    def __init__(self, shape: tuple[int, ...], address: int = 4096):
        self.shape, self.ndim, self.size = shape, len(shape), int(np.prod(shape))
        self.dtype = np.dtype(np.float32)
        self.nbytes = 4 * self.size
        self.strides = tuple(4 * int(np.prod(shape[n + 1 :])) for n in range(len(shape)))
        self.data = types.SimpleNamespace(ptr=address, device_id=0)
        self.flags = types.SimpleNamespace(c_contiguous=True)


class Function:
    """In place of a kernel in the driver's hands."""

    ptr = 0

    def __call__(self, grid, block, args, shared_mem) -> None:
        pass


@contextlib.contextmanager
def stubbed() -> Iterator[None]:
    """A GPU of compute capability 9.0 that does nothing."""
    loaded = gpu.Loaded("stub", Function())
    made = functools.cache(Array)
    with contextlib.ExitStack() as stack:
        for name, stub in {
            "is_device_array": lambda x: isinstance(x, Array),
            "why_not": lambda: None,
            "device": lambda: STUB,
            "arch": lambda: "sm_90",
            "current": lambda: 0,
            "launcher": lambda: lambda *words: None,
            "stream": lambda: 0,
            "driver_library": lambda: types.SimpleNamespace(
                cuTensorMapEncodeTiled=lambda *words: 0
            ),
            "load": lambda cubin, symbol: loaded,
            "empty": lambda shape, dtype=np.float32: made(shape),
            "allocate": lambda size: types.SimpleNamespace(ptr=0),
            "allow_dynamic_shared": lambda kernel, wanted: None,
        }.items():
            stack.enter_context(mock.patch.object(gpu, name, stub))
        yield


def calls(array: Callable[[tuple[int, ...], int], object]) -> dict[str, Callable[[], object]]:
    """Each call to time, with arrays that `array` makes at different addresses."""
    kernel = kernels.Kernel(SCALE, "scale")
    x, y = array((SIDE * SIDE,), 1), array((SIDE * SIDE,), 2)
    A, B, C = (array((SIDE, SIDE), n) for n in (3, 4, 5))
    simple, best = kernels.step(3), kernels.steps()[-1]
    several = next((one for one in kernels.steps() if len(one.launches(*3 * [SIDE])) > 1), best)
    loaded = gpu.load(kernel.cubin(gpu.arch()), kernel.symbol)
    values = kernel.convert((x, y, SIDE * SIDE, 2.0))
    return {
        "of which CuPy and the driver: gpu.launch": lambda: gpu.launch(
            loaded, (16,), (256,), values
        ),
        "Kernel: kernel(grid, block, (x, y, n, a))": lambda: kernel(
            (16,), (256,), (x, y, SIDE * SIDE, 2.0)
        ),
        f"Step: {simple.id}(A, B, C)": lambda: simple(A, B, C),
        f"Step: {best.id}(A, B, C)": lambda: best(A, B, C),
        f"Step: {several.id}(A, B, C)": lambda: several(A, B, C),
        "kernels.sgemm(A, B, C)": lambda: kernels.sgemm(A, B, C),
        "kernels.sgemm(A, B)": lambda: kernels.sgemm(A, B),
    }


def median_us(call: Callable[[], object], repeat: int, settle: Callable[[], object]) -> float:
    for _ in range(20):
        call()
    times = []
    for n in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
        if n % 10 == 0:
            settle()  # so that the queue of the GPU is never full
    return 1e6 * statistics.median(times)


def measured(array: Callable, repeat: int, settle: Callable[[], object]) -> dict[str, float]:
    return {name: median_us(call, repeat, settle) for name, call in calls(array).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=2000)
    repeat = parser.parse_args().repeat
    if gpu.available():
        import cupy

        where = gpu.device().name
        rows = measured(lambda shape, n: cupy.zeros(shape, cupy.float32), repeat, gpu.synchronize)
    else:
        where = "no GPU: arrays and launches are stubs"
        with stubbed():
            rows = measured(lambda shape, n: Array(shape, n << 24), repeat, lambda: None)
    print(f"us per call, median of {repeat} ({where})")
    for name, cost in rows.items():
        print(f"{cost:8.1f}  {name}")


if __name__ == "__main__":
    main()
