"""Triton's kernels, compiled ahead of time: on any machine that has Triton, without a GPU.

    types = {"x": "*fp32", "y": "*fp32", "n": "i32"}
    softmax = anywarp.from_triton(softmax, types, {"BLOCK": 256})
    softmax(rows, (x, y, n))        # as Triton's own softmax[(rows,)](x, y, n, BLOCK=256)
    softmax.trace(rows, (x, y, n))  # by the lines of the Python source

Triton makes PTX, which is run as any other: see `Kernel.from_ptx`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .kernel import Kernel, Size
from .limits import launch_size
from .sanitizer import Finding
from .trace import Trace

NAMES = {"fp64": "double", "fp32": "float", "fp16": "__half", "bf16": "__nv_bfloat16"}
NAMES |= {"i1": "bool", "i8": "signed char", "i16": "short", "i32": "int", "i64": "long long"}
SCRATCH = ("global_scratch", "profile_scratch")  # passed after the arguments, if at all


@dataclass(frozen=True)
class TritonKernel:
    """`kernel` runs in blocks of `threads`, each with so many bytes of shared memory; a program
    may ask for so many bytes of the scratches, too. Arguments are those of the types, in order."""

    kernel: Kernel
    threads: int
    shared_mem: int
    scratch: Mapping[str, int]

    def __call__(self, grid: Size, args: Sequence[Any], device: str = "auto") -> None:
        """Run it: see `Kernel`, which says what is raised, too."""
        self.kernel(*self._launch(grid, args), device=device, shared_mem=self.shared_mem)

    def trace(self, grid: Size, args: Sequence[Any], **limits: Any) -> Trace:
        """Count and keep its memory accesses: see `Kernel.trace`."""
        return self.kernel.trace(*self._launch(grid, args), shared_mem=self.shared_mem, **limits)

    def sanitize(self, grid: Size, args: Sequence[Any], **more: Any) -> tuple[Finding, ...]:
        """Its memory and barrier faults: see `Kernel.sanitize`."""
        return self.kernel.sanitize(*self._launch(grid, args), shared_mem=self.shared_mem, **more)

    def _launch(self, grid: Size, args: Sequence[Any]) -> tuple[Size, int, tuple[Any, ...]]:
        """Grid, block and arguments, with the scratches."""
        programs = math.prod(launch_size(grid, self.threads, self.shared_mem)[0])
        more = (np.zeros(max(1, programs * size), np.uint8) for size in self.scratch.values())
        return grid, self.threads, (*args, *more)


def from_triton(
    function: Any,
    types: Mapping[str, str],
    constants: Mapping[str, Any] | None = None,
    compute_capability: int = 90,
    **options: Any,
) -> TritonKernel:
    """Compile a function that `triton.jit` made.

    `types` has Triton's names for those of the arguments, in order ("*fp32" is a pointer);
    `constants` are its constexpr arguments; `options` are Triton's, such as num_warps=8. Raises
    ImportError without Triton, ValueError for arguments left out, and what Triton raises.
    """
    from triton import compile as compiled
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    constants = dict(constants or {})
    if lacking := [name for name in function.arg_names if name not in {**types, **constants}]:
        raise ValueError(f"{function.__name__} needs a type or a constant for {', '.join(lacking)}")
    signature = {name: types.get(name, "constexpr") for name in function.arg_names}
    source = ASTSource(fn=function, signature=signature, constexprs=constants)
    made = compiled(source, target=GPUTarget("cuda", compute_capability, 32), options=options)
    about = made.metadata
    count = made.asm["ptx"].partition(")")[0].count(".param")
    scratch = {name: getattr(about, f"{name}_size", 0) for name in SCRATCH[: count - len(types)]}
    arguments = [_parameter(name, text) for name, text in types.items()]
    called = ", ".join([*arguments, *(f"char* {name}" for name in scratch)])
    filename = f"{function.__name__}.ptx"
    kernel = Kernel.from_ptx(
        made.asm["ptx"], source=f"void {about.name}({called}) {{", filename=filename
    )
    return TritonKernel(kernel, 32 * about.num_warps, about.shared, scratch)


def _parameter(name: str, text: str) -> str:
    """An argument as C++ has it, which says what an array has to be of: "float* x"."""
    stars = text.count("*")
    return f"{NAMES.get(text.strip('*'), 'void')}{'*' * stars} {name}"
