"""The Triton kernel of book/triton.ipynb, before and after it is told of a stride, on a GPU.

    python -m benchmarks.row_sums compile    write book/programs/row_sums_….ptx, by Triton
    python -m benchmarks.row_sums OUTPUT     time both on a GPU, by CuPy

They are timed in turns, so that both meet the same clock, on a matrix that is larger than the
caches; each result is compared. Triton compiles without a GPU, and is not needed to time.
"""

from __future__ import annotations

import functools
import importlib.metadata
import json
import linecache
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

import anywarp
from anywarp import gpu
from anywarp.triton import TritonKernel
from kernels.measure.provenance import provenance
from kernels.records import write

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "book" / "triton.ipynb"
TYPES = {"x": "*fp32", "y": "*fp32", "columns": "i32", "row": "i32", "column": "i32"}
TILE = {"ROWS": 32, "COLUMNS": 32}
VERSIONS = {"before": {}, "after": {"row": 1}}  # constants beside TILE
ROWS, COLUMNS = 65536, 1024
THREADS, WARM_UP, ROUNDS = 128, 10, 50


def page() -> dict[str, Any]:
    """What the page's cells with the tag `launched` define: the kernel, and how it is compiled."""
    modules = functools, importlib, linecache, os, re, anywarp
    names: dict[str, Any] = {module.__name__: module for module in modules}
    names |= {"root": ROOT, "TritonKernel": TritonKernel}
    for cell in json.loads(PAGE.read_text(encoding="utf-8"))["cells"]:
        if "launched" in cell["metadata"].get("tags", ()):
            exec("".join(cell["source"]), names)
    return names


def compiled(version: str) -> TritonKernel:
    """The kernel as this page's Triton makes it, or as it was stored without that."""
    known = page()
    types = {name: kind for name, kind in TYPES.items() if name not in VERSIONS[version]}
    kernel: TritonKernel = known["from_triton"](known["row_sums"], types, TILE | VERSIONS[version])
    return kernel


def stored(version: str) -> Path:
    return ROOT / "book" / "programs" / f"row_sums_{version}.ptx"


def portable(ptx: str) -> str:
    """Without the folders of the machine where it was made, and what debuggers alone read."""
    ptx = re.sub(r'(\.file\s+\d+ )"[^"]*?([\w.]+)"', r'\1"\2"', ptx)
    ptx = re.sub(r"(?m)^[ \t]*\.section\s+\.debug_(?!str).*\n?\s*\{[^}]*\}[ \t]*\n?", "", ptx)
    ptx = re.sub(r"(?m)[ \t]*//(?! begin inline| end inline).*$|[ \t]+$", "", ptx)
    return re.sub(r"\n\n+", "\n", ptx).strip()


def store() -> None:
    """Write the PTX of both versions. Raises RuntimeError without the page's Triton."""
    if not page()["installed"]():
        raise RuntimeError("the page names the version of Triton that makes its PTX: install it")
    for version in VERSIONS:
        made = compiled(version)
        assert made.threads == THREADS and not any(made.scratch.values())
        text = f"// shared {made.shared_mem}\n{portable(made.kernel.ptx)}\n"
        stored(version).write_text(text, encoding="utf-8")


def measure() -> dict[str, Any]:
    """The record, as it is stored. Raises NoGPU, and AssertionError for a wrong sum."""
    gpu.require()
    import cupy

    x = cupy.random.default_rng(0).random((COLUMNS, ROWS), cupy.float32)  # a column is contiguous
    y, nothing = cupy.empty(ROWS, cupy.float32), cupy.empty(1, cupy.int8)
    columns, one, column = (np.int32(number) for number in (COLUMNS, 1, ROWS))
    args = {
        "before": (x, y, columns, one, column, nothing, nothing),
        "after": (x, y, columns, column, nothing, nothing),
    }
    grid, block = (ROWS // TILE["ROWS"],), (THREADS,)
    kernel = {name: cupy.RawModule(path=str(stored(name))) for name in VERSIONS}
    kernel = {name: module.get_function("row_sums") for name, module in kernel.items()}
    shared = {name: compiled(name).shared_mem for name in VERSIONS}
    times: dict[str, list[float]] = {name: [] for name in VERSIONS}
    for turn in range(WARM_UP + ROUNDS):
        for name in VERSIONS:
            y.fill(0)
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            start.record()
            kernel[name](grid, block, args[name], shared_mem=shared[name])
            end.record()
            end.synchronize()
            if turn >= WARM_UP:
                times[name].append(1e3 * cupy.cuda.get_elapsed_time(start, end))
            elif not turn:
                np.testing.assert_allclose(cupy.asnumpy(y), cupy.asnumpy(x.sum(0)), rtol=1e-5)
    what = f"CUDA events around single launches, in turns, {ROUNDS} rounds after {WARM_UP}"
    parts = {"p10": 10, "median": 50, "p90": 90}
    us = {
        name: {part: float(np.percentile(all_of_it, at)) for part, at in parts.items()}
        for name, all_of_it in times.items()
    }
    return {
        "provenance": provenance(what=what),
        "rows": ROWS,
        "columns": COLUMNS,
        "us": us,
    }


def main(arguments: list[str]) -> None:
    if arguments == ["compile"]:
        store()
    else:
        write(Path(arguments[0]), json.dumps(measure(), indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
