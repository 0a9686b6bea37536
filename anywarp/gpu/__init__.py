"""Everything that needs a CUDA driver: device facts, memory, launches and events.

No other module but `ready` launches anything (`cublas` asks that library to), and none but
`tensor_map` calls the driver's own library, for a function that CuPy lacks. CuPy is imported
inside the functions, so that importing this module costs nothing and works on a machine without a
GPU. Work is queued on CuPy's current stream and device, and the functions return before it is done;
`to_host` and `synchronize` wait for it.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..compile import nvrtc
from . import home, nvidia_smi

__all__ = [
    "Device", "Loaded", "NoGPU", "address", "allocate", "allow_dynamic_shared", "arch", "as_array",
    "available", "copy", "current", "device", "driver_errors", "driver_library", "elapsed_ms",
    "empty", "event", "fill_bytes", "is_device_array", "is_shared", "launch", "launcher", "load",
    "nvidia_smi", "queues", "read_variable", "ready", "refused", "require", "require_current",
    "stream", "synchronize", "to_device", "to_host", "why_not", "write_variable",
]  # fmt: skip
ON_HOST, CUDA = (1, 3), 2  # DLPack's kinds of devices: a CPU, its page-locked memory; a GPU


class NoGPU(RuntimeError):
    """No GPU can be used here; the message says why and what to do."""


# ---------------------------------------------------------------------- is there a GPU


@functools.cache
def why_not() -> str | None:
    """The reason why no GPU can be used, in words; None if one can. Never raises."""
    try:
        driver_library()
    except OSError:
        return "there is no NVIDIA driver on this machine"
    try:
        home.prepare()
        import cupy
        from cupy.cuda import runtime
    except Exception as error:
        return f"CuPy cannot be imported ({error}): pip install cupy-cuda12x"
    try:
        driver = runtime.driverGetVersion()
        if driver == 0:
            return "there is no NVIDIA driver on this machine"
        if too_old := _driver_too_old(driver, nvrtc.version()):
            return too_old
        if runtime.getDeviceCount() == 0:
            return "the NVIDIA driver sees no GPU"
        cupy.cuda.Device().use()
        facts = runtime.getDeviceProperties(runtime.getDevice())
        if not nvrtc.usable((facts["major"], facts["minor"])):
            return nvrtc.unusable(facts["name"].decode(), (facts["major"], facts["minor"]))
    except ImportError as error:
        return f"the compiler NVRTC cannot be loaded ({error}). {nvrtc.advice()}"
    except Exception as error:
        return f"CUDA reports: {error}"
    return None


def driver_library() -> ctypes.CDLL:
    """The driver's own library. Raises OSError where no driver is installed."""
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


def _driver_too_old(driver: int, compiler: tuple[int, int]) -> str | None:
    """Why a driver (12040 for CUDA 12.4) cannot run what this NVRTC compiles, or None.

    Within one major version a driver runs the cubins of every later compiler (CUDA
    Compatibility guide, "Minor Version Compatibility"); across major versions it does not.
    """
    if driver // 1000 >= compiler[0]:
        return None
    return (
        f"the NVIDIA driver is too old: it supports CUDA {_cuda_version(driver)}, and NVRTC "
        f"{compiler[0]}.{compiler[1]} needs a driver for CUDA {compiler[0]}.0 or later (update the "
        f"driver, or install the CuPy and NVRTC packages for CUDA {driver // 1000})"
    )


def available() -> bool:
    """Whether a GPU can be used. Never raises."""
    return why_not() is None


def require() -> None:
    """Return if a GPU can be used, else raise NoGPU with the reason."""
    reason = why_not()
    if reason is not None:
        raise NoGPU(
            f"No GPU can be used: {reason}. Timings need a machine with an NVIDIA GPU; "
            'device="interpreter" runs every kernel without one.'
        )


# ---------------------------------------------------------------------- device facts


@dataclass(frozen=True)
class Device:
    """Facts about the current GPU and the software that drives it."""

    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    clock_mhz: float  # the highest SM clock
    l2_bytes: int
    memory_bytes: int
    shared_bytes_per_block: int  # static and dynamic together, after opting in
    driver: str | None  # as nvidia-smi names it, "580.82.07"
    cuda_driver: str  # the CUDA version that the driver supports, "13.0"
    cuda_runtime: str
    nvrtc: str
    cupy: str
    memory_gbs: float = 0.0  # by clock and width of the bus, 10^9 bytes a second; 0: not known


def device() -> Device:
    """Facts about the current GPU. Raises NoGPU."""
    require()
    return _device(current())


@functools.cache
def _device(number: int) -> Device:
    """Facts about the GPU of this number, asked for once."""
    import cupy
    from cupy.cuda import runtime

    facts = runtime.getDeviceProperties(number)
    return Device(
        name=facts["name"].decode(),
        compute_capability=(facts["major"], facts["minor"]),
        multiprocessors=facts["multiProcessorCount"],
        clock_mhz=facts["clockRate"] / 1000,
        l2_bytes=facts["l2CacheSize"],
        memory_bytes=facts["totalGlobalMem"],
        shared_bytes_per_block=facts["sharedMemPerBlockOptin"],
        driver=nvidia_smi.status().driver,
        cuda_driver=_cuda_version(runtime.driverGetVersion()),
        cuda_runtime=_cuda_version(runtime.runtimeGetVersion()),
        nvrtc="{}.{}".format(*nvrtc.version()),
        cupy=cupy.__version__,
        # two transfers in a cycle; kHz and bits
        memory_gbs=facts.get("memoryClockRate", 0) * facts.get("memoryBusWidth", 0) / 4e6,
    )


def _cuda_version(number: int) -> str:
    """12040 as "12.4"."""
    return f"{number // 1000}.{number % 1000 // 10}"


def arch() -> str:
    """The `sm_XY` to compile for: the newest that both the GPU and NVRTC know. Raises NoGPU."""
    here = device()
    usable = nvrtc.usable(here.compute_capability)
    if not usable:  # another GPU than the one that `why_not` has seen
        raise NoGPU(f"No GPU can be used: {nvrtc.unusable(here.name, here.compute_capability)}")
    return f"sm_{max(usable)}"


# ---------------------------------------------------------------------- memory


def is_device_array(x: Any) -> bool:
    """Whether x is a CuPy array. Does not import CuPy: without it, no such array exists."""
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(x, cupy.ndarray)


def is_shared(x: Any) -> bool:
    """Whether x is an array of another library, whose memory `as_array` can show."""
    return hasattr(x, "__dlpack__") or hasattr(x, "__cuda_array_interface__")


def as_array(x: Any) -> Any:
    """x as an array of NumPy, or of CuPy if it lies on a GPU: the same memory, which is not copied.

    x is an array of either, or of a library that shares its memory by `__dlpack__` or
    `__cuda_array_interface__`, such as PyTorch or Numba. Raises TypeError, with that library's
    words, for one that cannot be shared, and NoGPU for one on a GPU that cannot be used.
    """
    if isinstance(x, np.ndarray) or is_device_array(x):
        return x
    kind = x.__dlpack_device__()[0] if hasattr(x, "__dlpack__") else CUDA
    on_host = kind in ON_HOST
    if not on_host and kind != CUDA:
        raise TypeError(f"lies on a device of DLPack's kind {int(kind)}, not on a CPU or CUDA GPU")
    if not on_host:
        require()
        import cupy
    try:
        if on_host:
            return np.from_dlpack(x)
        return cupy.from_dlpack(x) if hasattr(x, "__dlpack__") else cupy.asarray(x)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).rstrip(".")
        words = f"is of {type(x).__module__}.{type(x).__name__} and cannot be shared: {reason}"
        if "dtype" in reason:
            words += ": pass its bits as another type, such as x.view(torch.int16) for bfloat16"
        raise TypeError(words) from None


def empty(shape: int | tuple[int, ...], dtype: Any = np.float32) -> Any:
    """A CuPy array with whatever the memory held before. Raises NoGPU."""
    require()
    import cupy

    return cupy.empty(shape, dtype)


def allocate(size: int) -> Any:
    """So many bytes of CuPy's pool, on a multiple of 512; they go back when the pointer is let go,
    to be used by what is queued later on the current stream."""
    import cupy

    return cupy.cuda.alloc(size)


def to_device(x: np.ndarray) -> Any:
    """A copy of a NumPy array on the GPU: C-contiguous, or the transpose of such an array where x
    is one. Raises NoGPU."""
    require()
    import cupy

    if x.flags.f_contiguous and not x.flags.c_contiguous:
        return to_device(x.T).T
    there = cupy.empty(x.shape, x.dtype)
    there.set(np.asarray(x, order="C"))
    return there


def to_host(x: Any) -> np.ndarray:
    """A copy of a CuPy array as a NumPy array, once all work queued before is done."""
    import cupy

    return np.asarray(cupy.asnumpy(x))


def fill_bytes(x: Any, byte: int) -> None:
    """Set every byte of a contiguous CuPy array. 0xFF makes NaNs of floats."""
    x.data.memset_async(byte, x.nbytes)


def copy(target: Any, source: Any) -> None:
    """Copy one contiguous CuPy array into another of as many bytes."""
    if target.nbytes != source.nbytes:
        raise ValueError(f"cannot copy {source.nbytes} bytes into {target.nbytes}")
    target.data.copy_from_device_async(source.data, source.nbytes)


def require_current(number: int, arrays: Mapping[str, Any]) -> None:
    """Raise ValueError for CuPy arrays that are not on this device, the current one."""
    for name, x in arrays.items():
        if x.data.device_id != number:
            raise ValueError(
                f"{name} is on GPU {x.data.device_id}, and the current device is GPU {number}: "
                f"with cupy.cuda.Device({x.data.device_id}): …"
            )


def address(x: Any) -> int:
    """Where an array of NumPy or CuPy begins."""
    return int(x.ctypes.data if isinstance(x, np.ndarray) else x.data.ptr)


# ---------------------------------------------------------------------- launches and events


class Loaded(NamedTuple):
    """A kernel in the memory of one GPU, with variables of its own; unloaded when let go."""

    symbol: str
    function: Any  # CuPy's
    module: Any = None  # of CuPy, too
    cooperative: bool = False  # its launches are: all blocks at once, for grid.sync()


def current() -> int:
    """The number of CuPy's current device."""
    import cupy

    return int(cupy.cuda.runtime.getDevice())


def load(cubin: bytes, symbol: str) -> Loaded:
    """Load `symbol`, the mangled name of a kernel in `cubin`, or in PTX that ends with a zero, on
    the current device.

    Each call loads the module anew, so that its `__device__` variables start as declared.
    """
    import cupy

    module = cupy.cuda.function.Module()
    module.load(cubin)
    return Loaded(symbol, module.get_function(symbol), module)


def _variable(kernel: Loaded, name: str, size: int) -> Any:
    """The memory of a variable of a module, as a CuPy array of bytes on the module's device."""
    import cupy
    from cupy.cuda.memory import MemoryPointer, UnownedMemory

    # as cupy.RawModule.get_global, which leaves the size open
    memory = UnownedMemory(kernel.module.get_global_var(name), size, kernel.module)
    return cupy.ndarray((size,), np.uint8, MemoryPointer(memory, 0))


def write_variable(kernel: Loaded, name: str, data: np.ndarray) -> None:
    """Copy bytes (uint8, whole) into a variable, after what the current stream has to do."""
    there = _variable(kernel, name, data.nbytes)
    with there.device:
        there.set(data)


def read_variable(kernel: Loaded, name: str, size: int) -> np.ndarray:
    """A copy of the bytes (uint8) of a variable, once all work queued before is done."""
    return to_host(_variable(kernel, name, size))


def launch(
    kernel: Loaded,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    args: Sequence[Any],
    shared_mem: int = 0,
) -> None:
    """Queue one launch of a kernel that was loaded on the current device.

    grid and block are 1 to 3 positive ints. Each of args is a CuPy array (passed as the
    pointer to its data), a NumPy scalar of exactly the parameter's type, or bytes (a struct
    by value): nothing is checked. shared_mem is in bytes; the driver's default limit is
    raised when needed.

    Raises ValueError for more shared memory than the GPU has, and RuntimeError with CUDA's words
    when the driver refuses the launch. A fault while the kernel runs is raised by the call that
    waits for it.
    """
    values = [x if isinstance(x, np.generic) else _argument(x) for x in args]
    if shared_mem > 0:
        allow_dynamic_shared(kernel, shared_mem)
    # CuPy calls cuLaunchCooperativeKernel then
    how = {"enable_cooperative_groups": True} if kernel.cooperative else {}
    try:
        kernel.function(grid, block, values, shared_mem, **how)
    except driver_errors() as error:
        raise refused(kernel, grid, block, shared_mem, error) from error


def refused(
    kernel: Loaded, grid: tuple[int, ...], block: tuple[int, ...], shared_mem: int, error: Exception
) -> RuntimeError:
    """The error to raise for a launch that the driver refuses."""
    return RuntimeError(
        f"{kernel.symbol} cannot be launched with grid {grid}, block {block} and "
        f"{shared_mem} bytes of dynamic shared memory: {error}"
    )


def launcher() -> Any:
    """The driver's own function that launches, which CuPy's call too."""
    from cupy.cuda import driver

    return driver.launchKernel


def stream() -> int:
    """CuPy's current stream."""
    import cupy

    return int(cupy.cuda.get_current_stream().ptr)


def _argument(x: Any) -> Any:
    """x as CuPy wants it: a MemoryPointer, or an array of one struct."""
    return np.frombuffer(x, dtype=f"V{len(x)}") if isinstance(x, bytes) else x.data


def driver_errors() -> Any:
    """What CuPy raises where the driver refuses something."""
    import cupy

    return cupy.cuda.driver.CUDADriverError


def allow_dynamic_shared(kernel: Loaded, wanted: int) -> None:
    """Raise the kernel's limit of dynamic shared memory to `wanted` bytes if it is lower."""
    from cupy.cuda import driver

    limit = driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    pointer = kernel.function.ptr
    if wanted <= driver.funcGetAttribute(limit, pointer):
        return
    static = driver.funcGetAttribute(driver.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, pointer)
    most = device().shared_bytes_per_block
    if static + wanted > most:
        raise ValueError(
            f"{kernel.symbol} wants {wanted} bytes of dynamic and {static} of static "
            f"shared memory; {device().name} allows {most} per block"
        )
    driver.funcSetAttribute(pointer, limit, wanted)


def event(queue: Any = None) -> Any:
    """An event after what a stream of the current device, unless named its current one, has been
    given so far; the GPU notes the time when it gets there."""
    import cupy

    mark = cupy.cuda.Event()
    mark.record(queue)
    return mark


def elapsed_ms(start: Any, end: Any) -> float:
    """Milliseconds between two events that the GPU has passed."""
    import cupy

    return float(cupy.cuda.get_elapsed_time(start, end))


def synchronize() -> None:
    """Wait for all queued work. Raises RuntimeError if a kernel faulted."""
    import cupy

    cupy.cuda.runtime.deviceSynchronize()


def __dir__() -> list[str]:
    """The public names, for those who complete them."""
    return __all__
