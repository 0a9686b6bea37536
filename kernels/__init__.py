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

_NAMES = {  # module: the public names that it defines
    "anywarp": ("CompileError", "Kernel", "NoGPU", "TensorMap"),
    ".analysis.reference": ("CheckError", "inputs"),
    ".ladder.attempt": ("attempt_kernel",),
    ".ladder.check": ("check",),
    ".ladder.choose": ("plan", "sgemm"),
    ".ladder.step": ("step", "steps", "trace"),
    ".measure.bench": ("benchmark",),
    ".records": (
        *"counters errors experiments latency peers results roofs stalls sustained tuned".split(),
    ),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}
_MODULES = {  # public name: the module or folder that it stands for
    "analysis": ".analysis",
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
    """A public name, loaded when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(_HOME.get(name) or _MODULES[name], __name__)
    result = getattr(module, name) if name in _HOME else module
    globals()[name] = result  # where Python finds it the next time
    return result


def __dir__() -> list[str]:
    """The public names, for those who complete them."""
    return __all__
