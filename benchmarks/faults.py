"""What a GPU and NVIDIA's compute-sanitizer make of the kernels of book/faults.ipynb.

    python -m benchmarks.faults OUTPUT

Of each, as published and as cured: of how many launches the result is wrong, and what the four
tools say of one launch. Needs CuPy, and compute-sanitizer on the PATH. The kernels are those of the
page's cells with the tag `launched`, compiled as there, and launched by CuPy, which owes nothing to
the interpreter; the result's memory is as cudaMalloc gives it where a tool looks.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from anywarp import Kernel, gpu
from kernels.measure.provenance import provenance
from kernels.records import write
from tests.corpus.record import TOOLS, verdict

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "book" / "faults.ipynb"
VERSIONS = ("published", "cured")
LAUNCHES = 1000
PATIENCE = 120  # seconds for a launch under a tool


def page() -> dict[str, Any]:
    """What the page's cells define: `source`, `launch`, `given` and `expected`, by kernel."""
    names: dict[str, Any] = {"np": np, "source": {}}
    for cell in json.loads(PAGE.read_text(encoding="utf-8"))["cells"]:
        if "launched" in cell["metadata"].get("tags", ()):
            exec("".join(cell["source"]), names)
    return names


def options(version: str) -> list[str]:
    """For the compiler: CURE leaves out its contents, or does not."""
    return [f"-DCURE(...)={'__VA_ARGS__' if version == 'cured' else ''}"]


def launches(name: str, version: str, count: int, written: bool) -> int:
    """How many of `count` launches are wrong. `written`: the result's memory is zeros before each,
    as on the page."""
    import cupy

    cupy.cuda.set_allocator(None)  # each array its own cudaMalloc, with its bounds
    known = page()
    module = cupy.cuda.function.Module()
    module.load(Kernel(known["source"][name], name, options(version)).cubin(gpu.arch()))
    function = module.get_function(name)
    grid, block = known["launch"][name][VERSIONS.index(version)]
    given, want = map(cupy.asarray, known["given"][name]), known["expected"][name]
    out = cupy.empty(want.shape, want.dtype)
    args = (*given, out)
    wrong = 0
    for _ in range(count):
        if written:
            out.fill(0)
        function((grid,), (block,), args)
        wrong += not np.allclose(cupy.asnumpy(out), want, rtol=1e-5)
    return wrong


def sanitized(name: str, version: str) -> dict[str, Any]:
    """By tool, its verdict on one launch in a process of its own: see `verdict`."""
    own = [sys.executable, "-m", "benchmarks.faults", "--once", name, version]
    found = {}
    for tool in TOOLS:
        under = ["compute-sanitizer", "--tool", tool, "--show-backtrace", "no"]
        done = subprocess.run(
            [*under, *own], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        found[tool] = verdict(done.stdout + done.stderr, done.returncode)
    return found


def version() -> str:
    """Of compute-sanitizer, as it says itself."""
    asked = ["compute-sanitizer", "--version"]
    return subprocess.run(asked, capture_output=True, text=True).stdout.strip().split("\n")[-1]


def measure() -> dict[str, Any]:
    """The record, as it is stored. Raises NoGPU, and SystemExit without compute-sanitizer."""
    gpu.require()
    if not shutil.which("compute-sanitizer"):
        raise SystemExit("compute-sanitizer is not on the PATH: it comes with the CUDA Toolkit")
    found = {}
    for name, source in page()["source"].items():
        found[name] = {"source": hashlib.sha256(source.encode()).hexdigest()}
        for each in VERSIONS:
            print(name, each, flush=True)
            wrong = launches(name, each, LAUNCHES, written=True)
            said = sanitized(name, each)
            found[name][each] = {"launches": LAUNCHES, "wrong": wrong, "sanitizer": said}
    return {"provenance": provenance(compute_sanitizer=version()), "faults": found}


def main(arguments: list[str]) -> None:
    if arguments[0] == "--once":
        launches(arguments[1], arguments[2], 1, written=False)
    else:
        write(Path(arguments[0]), json.dumps(measure(), indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
