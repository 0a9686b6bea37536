"""Any CUDA kernel on any machine: run, counted and checked, on a GPU or without one.

    kernel = anywarp.RawKernel(source, "add")   # CUDA C++, called as cupy.RawKernel is
    kernel((4,), (256,), (a, b, c))             # on the GPU if there is one, else interpreted
    kernel.trace((4,), (256,), (a, b, c))       # sectors, bank conflicts: Nsight Compute's counters
    kernel.sanitize((4,), (256,), (a, b, c))    # races, stray accesses, memory that nobody wrote

Without a GPU the kernel is compiled to PTX, which an interpreter written in NumPy executes with the
GPU's bits. Names are loaded when first used: importing this package loads NumPy alone, and that
only then.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .build import (
        CompileError as CompileError,
        NoCompiler as NoCompiler,
        Resources as Resources,
    )
    from .compile.store import compiled_in as compiled_in
    from .gpu import NoGPU as NoGPU
    from .kernel import (
        DEVICES as DEVICES,
        Kernel as Kernel,
        RawKernel as RawKernel,
        Size as Size,
        choose_device as choose_device,
    )
    from .limits import LaunchError as LaunchError
    from .ptx.errors import PTXError as PTXError
    from .sanitizer.findings import Finding as Finding
    from .tensor_map import TensorMap as TensorMap
    from .trace.trace import Trace as Trace

__version__ = "0.1.0"

_HOME = {  # public name: the module that defines it
    "CompileError": "build",
    "DEVICES": "kernel",
    "Finding": "sanitizer.findings",
    "Kernel": "kernel",
    "LaunchError": "limits",
    "NoCompiler": "build",
    "NoGPU": "gpu",
    "PTXError": "ptx.errors",
    "RawKernel": "kernel",
    "Resources": "build",
    "Size": "kernel",
    "TensorMap": "tensor_map",
    "Trace": "trace.trace",
    "choose_device": "kernel",
    "compiled_in": "compile.store",
}
_MODULES = (
    "analysis", "build", "capability", "compile", "draw", "gpu", "limits", "progress", "ptx",
    "sanitizer", "sass", "testing", "trace",
)  # fmt: skip

__all__ = sorted([*_HOME, *_MODULES])


def __getattr__(name: str) -> Any:
    result: Any
    if name in _MODULES:
        result = importlib.import_module(f"{__name__}.{name}")
    elif name in _HOME:
        result = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = result  # where Python finds it the next time
    return result


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
