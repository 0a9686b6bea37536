"""Several GPUs, several streams of one, and memory of the host that a GPU copies from by itself."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import gpu

LOCKED = 1  # cudaMemoryTypeHost, which CUDA calls memory of the host that it has page-locked


def count() -> int:
    """GPUs of this machine. Raises NoGPU."""
    gpu.require()
    import cupy

    return int(cupy.cuda.runtime.getDeviceCount())


def device(number: int) -> Any:
    """A context in which this GPU is the current one."""
    import cupy

    return cupy.cuda.Device(number)


def stream(priority: int | None = None) -> Any:
    """A new queue of the current GPU, beside its others, and a context in which it is the current
    one. priority: the lower the number, the sooner its blocks get a place on the SMs."""
    import cupy

    return cupy.cuda.Stream(non_blocking=True, priority=priority)


def current() -> Any:
    """The stream on which the current GPU's work is queued."""
    import cupy

    return cupy.cuda.get_current_stream()


def free_bytes() -> int:
    """Of the current GPU's memory."""
    import cupy

    return int(cupy.cuda.runtime.memGetInfo()[0])


def copy_matrix(target: Any, source: Any, queue: Any) -> None:
    """Queue a copy between float32 matrices of NumPy and CuPy, whose rows are contiguous."""
    from cupy.cuda import runtime

    rows, columns = source.shape
    if source.size:
        to, at = ((gpu.address(x), x.strides[0]) for x in (target, source))
        how = _kind(target, source), queue.ptr
        runtime.memcpy2DAsync(*to, *at, 4 * columns, rows, *how)


def _kind(target: Any, source: Any) -> int:
    """CUDA's number for a copy from one to the other, host or GPU."""
    from cupy.cuda import runtime

    if not gpu.is_device_array(source):
        return int(runtime.memcpyHostToDevice)
    there = gpu.is_device_array(target)
    return int(runtime.memcpyDeviceToDevice if there else runtime.memcpyDeviceToHost)


def pinned(shape: tuple[int, int]) -> np.ndarray:
    """A float32 matrix in page-locked memory of the host. Raises NoGPU."""
    gpu.require()
    import cupyx

    return np.asarray(cupyx.empty_pinned(shape, np.float32))


@contextlib.contextmanager
def locked(*arrays: np.ndarray) -> Iterator[None]:
    """Page-lock what is not locked yet: only from there a GPU copies while kernels run."""
    from cupy.cuda import runtime

    done = []
    try:
        for array in arrays:
            start = array.ctypes.data
            if array.nbytes and runtime.pointerGetAttributes(start).type != LOCKED:
                runtime.hostRegister(start, array.nbytes, 0)
                done.append(start)
        yield
    finally:
        for start in done:
            runtime.hostUnregister(start)
