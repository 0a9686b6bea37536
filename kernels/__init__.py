"""CUDA SGEMM, step by step: the kernels of the book, and what runs, checks and draws them.

    step = kernels.step("03_coalesced")   # a step of the ladder; kernels.steps() has them all
    C = step(A, B)                        # on the GPU if there is one, else in the interpreter
    step.check()                          # against the float64 reference
    kernels.Kernel(source, name)          # any CUDA C++ kernel
    kernels.TensorMap(array, box)         # an array as the tensor map of one
    kernels.sgemm(A, B)                   # the best step for this device and shape
    kernels.parallel                      # one product over several GPUs, or from the host's memory
    kernels.results("NVIDIA H200")        # recorded timings; counters and peers likewise
    kernels.here.benchmark([step], [512]) # those of this machine's GPU; None without one

Names are loaded when first used: importing this package takes no time and loads no CuPy.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME = {  # public name: the module that defines it
    "CheckError": "ladder.reference",
    "CompileError": "run.build",
    "Kernel": "run.kernel",
    "NoGPU": "run.gpu",
    "TensorMap": "run.tensor_map",
    "attempt_kernel": "ladder.attempt",
    "counters": "measure.records",
    "errors": "measure.records",
    "experiments": "measure.records",
    "inputs": "ladder.reference",
    "latency": "measure.records",
    "peers": "measure.records",
    "results": "measure.records",
    "sgemm": "ladder.choose",
    "stalls": "measure.records",
    "step": "ladder.step",
    "steps": "ladder.step",
    "trace": "instruments.trace",
    "tuned": "measure.records",
}
_MODULES = {  # public name: the module or folder that it stands for
    "analysis": "analysis",
    "bench": "measure.bench",
    "build": "run.build",
    "check": "ladder.check",
    "draw": "draw",
    "floors": "measure.floors",
    "gpu": "run.gpu",
    "here": "measure.here",
    "metrics": "instruments.metrics",
    "parallel": "parallel",
    "ptx": "ptx",
    "records": "measure.records",
    "reference": "ladder.reference",
}

__all__ = sorted([*_HOME, *_MODULES])


def __getattr__(name: str) -> Any:
    found: Any
    if name in _MODULES:
        found = importlib.import_module(f"{__name__}.{_MODULES[name]}")
    elif name in _HOME:
        found = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found  # where Python finds it the next time
    return found


def __dir__() -> list[str]:
    return __all__
