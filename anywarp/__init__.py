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
    from .build import CompileError, NoCompiler, Resources
    from .compile.store import compiled_in
    from .gpu import NoGPU
    from .kernel import DEVICES, Kernel, RawKernel, Size, choose_device
    from .limits import LaunchError
    from .ptx.errors import PTXError
    from .sanitizer.findings import Finding
    from .tensor_map import TensorMap
    from .texture import Surface, Texture
    from .trace.trace import Trace
    from .triton import from_triton

__version__ = "0.1.0"

_NAMES = {  # module: the public names that it defines
    "build": ("CompileError", "NoCompiler", "Resources"),
    "compile.store": ("compiled_in",),
    "gpu": ("NoGPU",),
    "kernel": ("DEVICES", "Kernel", "RawKernel", "Size", "choose_device"),
    "limits": ("LaunchError",),
    "ptx.errors": ("PTXError",),
    "sanitizer.findings": ("Finding",),
    "tensor_map": ("TensorMap",),
    "texture": ("Surface", "Texture"),
    "trace.trace": ("Trace",),
    "triton": ("from_triton",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "DEVICES", "CompileError", "Finding", "Kernel", "LaunchError", "NoCompiler", "NoGPU",
    "PTXError", "RawKernel", "Resources", "Size", "Surface", "TensorMap", "Texture", "Trace",
    "analysis", "build", "capability", "choose_device", "compile", "compiled_in", "draw",
    "from_triton", "gpu", "limits", "progress", "ptx", "sanitizer", "sass", "tensor_map",
    "testing", "trace",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """A public name, loaded when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_HOME.get(name, name)}")
    result = getattr(module, name) if name in _HOME else module
    globals()[name] = result  # where Python finds it the next time
    return result


def __dir__() -> list[str]:
    """The public names, for those who complete them."""
    return [*__all__, "__version__"]
