"""CUDA SGEMM, step by step: the kernels of the book, and what runs, checks and draws them.

    step = kernels.step("03_coalesced")   # a step of the ladder; kernels.steps() has them all
    C = step(A, B)                        # on the GPU if there is one, else in the interpreter
    step.check()                          # against the float64 reference
    kernels.Kernel(source, name)          # any CUDA C++ kernel
    kernels.sgemm(A, B)                   # the best step for this device and shape
    kernels.results("NVIDIA H200")        # recorded timings; counters and peers likewise

Names are loaded when first used: importing this package takes no time and loads no CuPy.
"""

from __future__ import annotations

import importlib

_HOME = {  # public name: the submodule that defines it
    "CheckError": "reference",
    "CompileError": "build",
    "Kernel": "kernel",
    "NoGPU": "gpu",
    "counters": "records",
    "inputs": "reference",
    "peers": "records",
    "results": "records",
    "sgemm": "steps",
    "step": "steps",
}
# steps is both a module and, when called, the function in it.
_MODULES = (
    "analysis", "bench", "build", "check", "draw", "gpu", "kernel", "ptx", "records", "reference",
    "steps",
)  # fmt: skip

__all__ = sorted([*_HOME, *_MODULES])


def __getattr__(name: str):
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
