"""Everything that needs a CUDA driver: device facts, memory, launches, events, cuBLAS.

No other module touches the driver. CuPy is imported inside the functions, so that importing
this module costs nothing and works on a machine without a GPU. Work is queued on CuPy's
current stream and device, and the functions return before it is done; `to_host` and
`synchronize` wait for it.
"""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


class NoGPU(RuntimeError):
    """No GPU can be used here; the message says why and what to do."""


# ---------------------------------------------------------------------- is there a GPU


@functools.cache
def why_not() -> str | None:
    """The reason why no GPU can be used, in words; None if one can. Never raises."""
    try:
        import cupy
        from cupy.cuda import nvrtc, runtime
    except Exception as error:
        return f"CuPy cannot be imported ({error})"
    try:
        driver = runtime.driverGetVersion()
        if driver == 0:
            return "there is no NVIDIA driver on this machine"
        if too_old := _driver_too_old(driver, nvrtc.getVersion()):
            return too_old
        if runtime.getDeviceCount() == 0:
            return "the NVIDIA driver sees no GPU"
        cupy.cuda.Device().use()
    except Exception as error:
        return f"CUDA reports: {error}"
    return None


def _driver_too_old(driver: int, nvrtc: tuple[int, int]) -> str | None:
    """Why a driver (12040 for CUDA 12.4) cannot run what this NVRTC compiles, or None.

    Within one major version a driver runs the cubins of every later compiler (CUDA
    Compatibility guide, "Minor Version Compatibility"); across major versions it does not.
    """
    if driver // 1000 >= nvrtc[0]:
        return None
    return (
        f"the NVIDIA driver is too old: it supports CUDA {_cuda_version(driver)}, and NVRTC "
        f"{nvrtc[0]}.{nvrtc[1]} needs a driver for CUDA {nvrtc[0]}.0 or later (update the "
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
            f'No GPU can be used: {reason}. device="interpreter" runs every kernel '
            "without one; timings need a machine with an NVIDIA GPU."
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


def device() -> Device:
    """Facts about the current GPU. Raises NoGPU."""
    require()
    import cupy

    return _device(cupy.cuda.runtime.getDevice())


@functools.cache
def _device(number: int) -> Device:
    import cupy
    from cupy.cuda import nvrtc, runtime

    facts = runtime.getDeviceProperties(number)
    return Device(
        name=facts["name"].decode(),
        compute_capability=(facts["major"], facts["minor"]),
        multiprocessors=facts["multiProcessorCount"],
        clock_mhz=facts["clockRate"] / 1000,
        l2_bytes=facts["l2CacheSize"],
        memory_bytes=facts["totalGlobalMem"],
        shared_bytes_per_block=facts["sharedMemPerBlockOptin"],
        driver=status().driver,
        cuda_driver=_cuda_version(runtime.driverGetVersion()),
        cuda_runtime=_cuda_version(runtime.runtimeGetVersion()),
        nvrtc="{}.{}".format(*nvrtc.getVersion()),
        cupy=cupy.__version__,
    )


def _cuda_version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def arch() -> str:
    """The `sm_XY` to compile for: the newest that both the GPU and NVRTC know. Raises NoGPU."""
    major, minor = device().compute_capability
    from cupy.cuda import nvrtc

    known = nvrtc.getSupportedArchs()
    usable = [number for number in known if 10 * major <= number <= 10 * major + minor]
    if not usable:
        raise NoGPU(
            f"No GPU can be used: NVRTC {device().nvrtc} compiles for compute capability "
            f"{min(known) / 10} to {max(known) / 10}, and {device().name} has "
            f'{major}.{minor}. device="interpreter" runs every kernel without a GPU.'
        )
    return f"sm_{max(usable)}"


# ---------------------------------------------------------------------- clocks, by nvidia-smi


@dataclass(frozen=True)
class Status:
    """What nvidia-smi says of the current GPU at one moment; None where it does not say."""

    driver: str | None = None
    sm_clock_mhz: float | None = None
    throttle: tuple[str, ...] | None = None  # reasons why the clock is held down just now


# The bits of nvmlClocksEventReasons (NVML API reference), by NVML's names.
_THROTTLE = {
    0x001: "gpu_idle",
    0x002: "applications_clocks_setting",
    0x004: "sw_power_cap",
    0x008: "hw_slowdown",
    0x010: "sync_boost",
    0x020: "sw_thermal_slowdown",
    0x040: "hw_thermal_slowdown",
    0x080: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
}


def status() -> Status:
    """Driver, SM clock and throttle reasons just now. Never raises; takes 0.1 to 2 seconds."""
    for reasons in ("clocks_event_reasons.active", "clocks_throttle_reasons.active"):
        try:
            answer = subprocess.run(
                [
                    "nvidia-smi",
                    f"--query-gpu=pci.bus_id,driver_version,clocks.sm,{reasons}",
                    "--format=csv,noheader,nounits",
                ],
                capture_output=True,
                text=True,
                timeout=20,
            )
        except (OSError, subprocess.SubprocessError):
            return Status()
        if answer.returncode == 0:  # drivers before 535 know only the second name
            return _parse_status(answer.stdout, _pci_bus_id())
    return Status()


def _pci_bus_id() -> str | None:
    """The PCI address of the current GPU as CUDA writes it, "0000:3B:00.0"."""
    try:
        from cupy.cuda import runtime

        return runtime.deviceGetPCIBusId(runtime.getDevice())
    except Exception:
        return None


def _parse_status(text: str, pci_bus_id: str | None) -> Status:
    """Status from nvidia-smi's lines, one per GPU: the GPU at pci_bus_id, or the only one.

    nvidia-smi writes the PCI domain with eight digits and CUDA with four, and CUDA's device
    numbers need not be nvidia-smi's.
    """
    rows = [[field.strip() for field in line.split(",")] for line in text.splitlines()]
    rows = [row for row in rows if len(row) == 4]
    if len(rows) > 1:
        rows = [row for row in rows if pci_bus_id and row[0].lower().endswith(pci_bus_id.lower())]
    if not rows:
        return Status()
    _, driver, clock, reasons = rows[0]
    return Status(driver, _number(clock), _throttle_names(reasons))


def _number(field: str) -> float | None:
    try:
        return float(field)
    except ValueError:  # "[N/A]", "[Not Supported]"
        return None


def _throttle_names(field: str) -> tuple[str, ...] | None:
    try:
        mask = int(field, 16)
    except ValueError:
        return None
    names = [name for bit, name in _THROTTLE.items() if mask & bit]
    unknown = mask & ~sum(_THROTTLE)
    return tuple(names + ([hex(unknown)] if unknown else []))


# ---------------------------------------------------------------------- memory


def is_device_array(x: Any) -> bool:
    """Whether x is a CuPy array. Does not import CuPy: without it, no such array exists."""
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(x, cupy.ndarray)


def empty(shape: int | tuple[int, ...], dtype: Any = np.float32) -> Any:
    """A CuPy array with whatever the memory held before. Raises NoGPU."""
    require()
    import cupy

    return cupy.empty(shape, dtype)


def to_device(x: np.ndarray) -> Any:
    """A copy of a NumPy array on the GPU, C-contiguous. Raises NoGPU."""
    require()
    import cupy

    there = cupy.empty(x.shape, x.dtype)
    there.set(np.asarray(x, order="C"))
    return there


def to_host(x: Any) -> np.ndarray:
    """A copy of a CuPy array as a NumPy array, once all work queued before is done."""
    import cupy

    return cupy.asnumpy(x)


def fill_bytes(x: Any, byte: int) -> None:
    """Set every byte of a contiguous CuPy array. 0xFF makes NaNs of floats."""
    x.data.memset_async(byte, x.nbytes)


def copy(target: Any, source: Any) -> None:
    """Copy one contiguous CuPy array into another of as many bytes."""
    if target.nbytes != source.nbytes:
        raise ValueError(f"cannot copy {source.nbytes} bytes into {target.nbytes}")
    target.data.copy_from_device_async(source.data, source.nbytes)


# ---------------------------------------------------------------------- launches and events


def launch(
    cubin: bytes, symbol: str, grid: Any, block: Any, args: Sequence[Any], dynamic_shared: int = 0
) -> None:
    """Queue one launch of `symbol`, the mangled name of a kernel in `cubin`.

    grid and block are 1 to 3 positive ints. Each of args is a CuPy array (passed as the
    pointer to its data), a NumPy scalar of exactly the parameter's type, or bytes (a struct
    by value). dynamic_shared is in bytes; the driver's default limit is raised when needed.

    Raises NoGPU, TypeError and ValueError for arguments that cannot be, and RuntimeError
    with CUDA's words when the driver refuses the launch. A fault while the kernel runs is
    raised by the call that waits for it.
    """
    require()
    import cupy

    grid, block = _dimensions("grid", grid), _dimensions("block", block)
    values = [_argument(i, x) for i, x in enumerate(args)]
    function = _function(cubin, symbol, cupy.cuda.runtime.getDevice())
    if dynamic_shared > 0:
        _allow_dynamic_shared(function, symbol, dynamic_shared)
    try:
        function(grid, block, values, dynamic_shared)
    except cupy.cuda.driver.CUDADriverError as error:
        raise RuntimeError(
            f"{symbol} cannot be launched with grid {grid}, block {block} and "
            f"{dynamic_shared} bytes of dynamic shared memory: {error}"
        ) from error


def _dimensions(what: str, value: Any) -> tuple[int, ...]:
    numbers = value if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(numbers) <= 3 or any(number < 1 for number in numbers):
        raise ValueError(f"{what} must be 1 to 3 positive ints, not {value}")
    return tuple(int(number) for number in numbers)


def _argument(index: int, x: Any) -> Any:
    """x as CuPy wants it: a MemoryPointer, a NumPy scalar, or an array of one struct."""
    if is_device_array(x):
        return x.data
    if isinstance(x, np.generic):
        return x
    if isinstance(x, bytes):
        return np.frombuffer(x, dtype=f"V{len(x)}")
    raise TypeError(
        f"argument {index} must be a CuPy array, a NumPy scalar or bytes, not {type(x).__name__}"
    )


@functools.lru_cache(maxsize=256)
def _function(cubin: bytes, symbol: str, device_number: int) -> Any:
    """The loaded kernel. A module belongs to one device, hence the third part of the key."""
    import cupy

    module = cupy.cuda.function.Module()
    module.load(cubin)
    return module.get_function(symbol)


def _allow_dynamic_shared(function: Any, symbol: str, wanted: int) -> None:
    """Raise the kernel's limit of dynamic shared memory to `wanted` bytes if it is lower."""
    from cupy.cuda import driver

    limit = driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    if wanted <= driver.funcGetAttribute(limit, function.ptr):
        return
    static = driver.funcGetAttribute(driver.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function.ptr)
    most = device().shared_bytes_per_block
    if static + wanted > most:
        raise ValueError(
            f"{symbol} wants {wanted} bytes of dynamic and {static} of static "
            f"shared memory; {device().name} allows {most} per block"
        )
    driver.funcSetAttribute(function.ptr, limit, wanted)


def event() -> Any:
    """An event queued now; the GPU notes the time when it gets there."""
    import cupy

    mark = cupy.cuda.Event()
    mark.record()
    return mark


def elapsed_ms(start: Any, end: Any) -> float:
    """Milliseconds between two events that the GPU has passed."""
    import cupy

    return cupy.cuda.get_elapsed_time(start, end)


def synchronize() -> None:
    """Wait for all queued work. Raises RuntimeError if a kernel faulted."""
    import cupy

    cupy.cuda.runtime.deviceSynchronize()


# ---------------------------------------------------------------------- cuBLAS

_CUBLAS_DEFAULT_MATH = 0  # FP32 products in FP32: tensor cores (TF32) need another mode


def cublas_sgemm(A: Any, B: Any, C: Any, alpha: float = 1.0, beta: float = 0.0) -> None:
    """C = alpha A B + beta C by cuBLAS, in FP32 and never TF32.

    A (M, K), B (K, N) and C (M, N) are row-major float32 CuPy arrays; C is updated in place.
    cuBLAS is column-major, so it is asked for C^T = B^T A^T. Raises ValueError for other
    arrays, ImportError if cuBLAS is not installed.
    """
    for name, x in (("A", A), ("B", B), ("C", C)):
        if not (
            is_device_array(x) and x.dtype == np.float32 and x.ndim == 2 and x.flags.c_contiguous
        ):
            raise ValueError(f"{name} must be a C-contiguous two-dimensional float32 CuPy array")
    (M, K), N = A.shape, B.shape[1]
    if B.shape[0] != K or C.shape != (M, N):
        raise ValueError(f"shapes do not fit: A {A.shape}, B {B.shape}, C {C.shape}")
    if M == 0 or N == 0:
        return
    cublas, handle = _cublas()
    scalars = np.array([alpha, beta], np.float32)
    address = scalars.ctypes.data
    mode = cublas.getMathMode(handle)
    cublas.setMathMode(handle, _CUBLAS_DEFAULT_MATH)
    try:
        cublas.sgemm(
            handle,
            cublas.CUBLAS_OP_N,
            cublas.CUBLAS_OP_N,
            N,
            M,
            K,
            address,
            B.data.ptr,
            N,
            A.data.ptr,
            max(K, 1),
            address + 4,
            C.data.ptr,
            N,
        )
    finally:
        cublas.setMathMode(handle, mode)


def cublas_version() -> str:
    """The version of cuBLAS in use, "13.0.2". Raises NoGPU, ImportError."""
    require()
    cublas, handle = _cublas()
    return _cublas_version(cublas.getVersion(handle))


def _cublas_version(number: int) -> str:
    """130002 and 120905: two digits each for minor and patch from cuBLAS 11 on."""
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def _cublas() -> tuple[Any, int]:
    """CuPy's cuBLAS module and the handle of the current device."""
    import cupy

    try:
        from cupy_backends.cuda.libs import cublas
    except ImportError as error:
        major = cupy.cuda.runtime.runtimeGetVersion() // 1000
        package = "nvidia-cublas-cu12" if major == 12 else "nvidia-cublas"
        raise ImportError(
            f"cuBLAS cannot be loaded: install a CUDA {major} toolkit, or `pip install {package}`"
        ) from error
    return cublas, cupy.cuda.get_cublas_handle()
