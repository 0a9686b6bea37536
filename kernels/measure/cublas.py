"""cuBLAS's SGEMM, on row-major matrices: what the steps are measured against."""

from __future__ import annotations

from typing import Any

import numpy as np

from anywarp import gpu

_DEFAULT_MATH = 0  # FP32 products in FP32
_TF32_MATH = 3  # in TF32, on tensor cores


def sgemm(A: Any, B: Any, C: Any, tf32: bool = False) -> None:
    """C = A B by cuBLAS, in FP32, and in TF32 only if asked.

    A (M, K), B (K, N) and C (M, N) are row-major float32 CuPy arrays, not empty; C is written.
    cuBLAS is column-major, so it is asked for C^T = B^T A^T. Raises ValueError for other
    arrays, ImportError if cuBLAS is not installed.
    """
    for name, x in (("A", A), ("B", B), ("C", C)):
        matrix = gpu.is_device_array(x) and x.dtype == np.float32 and x.ndim == 2
        if not (matrix and x.flags.c_contiguous):
            raise ValueError(f"{name} must be a C-contiguous two-dimensional float32 CuPy array")
    (M, K), N = A.shape, B.shape[1]
    if B.shape[0] != K or C.shape != (M, N):
        raise ValueError(f"shapes do not fit: A {A.shape}, B {B.shape}, C {C.shape}")
    cublas, handle = _cublas()
    scalars = np.array([1, 0], np.float32)  # C = 1 A B + 0 C
    alpha, beta = scalars.ctypes.data, scalars[1:].ctypes.data
    factors = B.data.ptr, N, A.data.ptr, K  # each with the distance between its rows
    plain = cublas.CUBLAS_OP_N
    mode = cublas.getMathMode(handle)
    cublas.setMathMode(handle, _TF32_MATH if tf32 else _DEFAULT_MATH)
    try:
        cublas.sgemm(handle, plain, plain, N, M, K, alpha, *factors, beta, C.data.ptr, N)
    finally:
        cublas.setMathMode(handle, mode)


def version() -> str:
    """The version of cuBLAS in use, "13.0.2". Raises NoGPU, ImportError."""
    gpu.require()
    cublas, handle = _cublas()
    return _words(cublas.getVersion(handle))


def _words(number: int) -> str:
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
