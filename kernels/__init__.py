"""CUDA SGEMM, step by step: the kernels of the book, and what checks, times and draws them.

    step = kernels.step("03_coalesced")   # a step of the ladder; kernels.steps() has them all
    C = step(A, B)                        # on the GPU if there is one, else in the interpreter
    step.check()                          # against the float64 reference
    kernels.Kernel(source, name)          # any CUDA C++ kernel: anywarp.Kernel
    kernels.sgemm(A, B)                   # the best step for this device and shape
    kernels.plan(A, B)                    # which one that is, and why
    kernels.parallel                      # one product over several GPUs, or from the host's memory
    kernels.results("NVIDIA H200")        # recorded timings; counters and peers likewise
    kernels.here.benchmark([step], [512]) # those of this machine's GPU; None without one

Names are loaded when first used: importing this package takes no time and loads no CuPy.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from anywarp.compile import headers, store

_HOME = {  # public name: the module that defines it
    "CheckError": ".analysis.reference",
    "CompileError": "anywarp",
    "Kernel": "anywarp",
    "NoGPU": "anywarp",
    "TensorMap": "anywarp",
    "attempt_kernel": ".ladder.attempt",
    "check": ".ladder.check",
    "counters": ".records",
    "errors": ".records",
    "experiments": ".records",
    "inputs": ".analysis.reference",
    "latency": ".records",
    "peers": ".records",
    "plan": ".ladder.choose",
    "results": ".records",
    "sgemm": ".ladder.choose",
    "stalls": ".records",
    "step": ".ladder.step",
    "steps": ".ladder.step",
    "trace": ".ladder.step",
    "tuned": ".records",
}
_MODULES = {  # public name: the module or folder that it stands for
    "analysis": ".analysis",
    "bench": ".measure.bench",
    "build": "anywarp.build",
    "draw": ".draw",
    "gpu": "anywarp.gpu",
    "here": ".measure.here",
    "metrics": "anywarp.trace.metrics",
    "parallel": ".parallel",
    "ptx": "anywarp.ptx",
    "records": ".records",
    "reference": ".analysis.reference",
}

__all__ = sorted([*_HOME, *_MODULES])

_ROOT = Path(__file__).parent
store.compiled_in(_ROOT / "compiled")
headers.added.append(_ROOT / "cuda")  # for headers beside the steps


def __getattr__(name: str) -> Any:
    result: Any
    if name in _MODULES:
        result = importlib.import_module(_MODULES[name], __name__)
    elif name in _HOME:
        result = getattr(importlib.import_module(_HOME[name], __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = result  # where Python finds it the next time
    return result


def __dir__() -> list[str]:
    return __all__
