"""A GPU that does not exist: what a reader sees whose GPU is not the recorded one.

Kernels are compiled for its compute capability, by NVRTC, and refused where it lacks something;
then the interpreter runs them. A clock of its own gives timings, all of them made up, as its name
says. To run notebooks on it, or to compile all steps and variants for some compute capabilities:

    python -m tests.made_up notebooks 7.5 book/16_async_copy.ipynb
    python -m tests.made_up compile 7.5 8.0 8.6 8.9 9.0 10.0 12.0
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from anywarp import capability, gpu
from anywarp.analysis.occupancy import SMS, occupancy
from anywarp.build import CompileError
from anywarp.gpu import nvidia_smi
from anywarp.kernel import Kernel
from kernels.ladder import running
from kernels.ladder.step import Step, steps, with_variants
from kernels.measure import bench, cublas

ROOT = Path(__file__).resolve().parent.parent
MULTIPROCESSORS = 40
TFLOPS = {"fma_peak": 8.0, "cublas": 6.0}  # made up; of each kernel of a step, 3
GBS = {"copy": 250.0, "shared": 4000.0}
RESIDENT = 16 * 4000 * 8 * 256 * 24 * MULTIPROCESSORS  # bytes that `read_shared` reads


def device(of: str) -> gpu.Device:
    """A GPU of compute capability `of`, such as "7.5"."""
    major, minor = map(int, of.split("."))
    return gpu.Device(
        name=f"made-up GPU {of}",
        compute_capability=(major, minor),
        multiprocessors=MULTIPROCESSORS,
        clock_mhz=1500.0,
        l2_bytes=4 << 20,
        memory_bytes=16 << 30,
        shared_bytes_per_block=SMS[of].shared_block,
        driver="1",
        cuda_driver="13.0",
        cuda_runtime="12.9",
        nvrtc="12.9",
        cupy="14.0",
    )


class MadeUp:
    """Stands in for the driver from `install` on. `timed` has what was launched to be timed, by
    the kernel's symbol; `run` what was run to be right."""

    def __init__(self, of: str):
        self.facts = device(of)
        self.ms = 0.0
        self.timed: list[str] = []
        self.run: list[str] = []
        self.products: dict[tuple[int, int], np.ndarray] = {}

    def install(self, change: Callable[[Any, str, Any], None] = setattr) -> None:
        names = ("empty", "to_device", "to_host", "fill_bytes", "copy", "event", "load", "launch")
        for name in names:
            change(gpu, name, getattr(self, name))
        change(gpu, "why_not", lambda: None)
        change(gpu, "device", lambda: self.facts)
        change(gpu, "arch", lambda: "sm_{}{}".format(*self.facts.compute_capability))
        change(gpu, "current", lambda: 0)
        change(gpu, "synchronize", lambda: None)
        change(gpu, "elapsed_ms", lambda start, end: end - start)
        change(nvidia_smi, "status", lambda: nvidia_smi.Status("1", 1500.0, ()))
        change(cublas, "version", lambda: "1.2.3")
        change(cublas, "sgemm", self.by_cublas)
        change(bench, "MIN_SECONDS", 0.0)
        change(bench, "MIN_REPEATS", 3)
        change(running, "_on_gpu", self.step)
        change(Kernel, "_on_gpu", lambda kernel, *launch: self.kernel(kernel, *launch))

    # ------------------------------------------------------------------ what runs

    def kernel(
        self, one: Kernel, grid: Any, block: Any, values: Sequence[Any], shared: int
    ) -> None:
        self.fits(one, block, shared)
        self.run.append(one.symbol)
        one.launch(grid, block, values, "interpreter", shared)

    def step(self, one: Step, *product: Any) -> None:
        M, N, K, A, B, C, alpha, beta = product
        for launch in one.launches(M, N, K):
            self.fits(one.kernels[launch.kernel], launch.block, launch.shared)
        self.run.append(one.label)
        running.run(one, M, N, K, A, B, C, alpha, beta, "interpreter")

    def fits(self, one: Kernel, block: Sequence[int], shared: int) -> None:
        """Compile for this GPU, and raise what its driver would for a block that it cannot have."""
        one.cubin(gpu.arch())
        used = one.resources(gpu.arch())
        occupancy(used, int(np.prod(block)), self.facts.compute_capability, shared)

    # ------------------------------------------------------------------ what is timed

    def load(self, cubin: bytes, symbol: str) -> gpu.Loaded:
        assert cubin.startswith(b"\x7fELF")
        return gpu.Loaded(symbol, SimpleNamespace(ptr=0))

    def launch(
        self, kernel: gpu.Loaded, grid: Any, block: Any, args: Sequence[Any], shared: int = 0
    ) -> None:
        symbol = kernel.symbol
        self.timed.append(symbol)
        if symbol in ("nothing", "fma_peak"):
            flops = 2 * 8 * 64 * 683 * grid[0] * block[0] * (symbol == "fma_peak")
            self.ms += flops / (TFLOPS["fma_peak"] * 1e9) + 0.002
        elif "read_shared" in symbol:
            self.ms += RESIDENT / (GBS["shared"] * 1e6)
        else:
            self.product(*args[4:6], args[7])
            self.ms += 2.0 * int(args[0]) * int(args[1]) * int(args[2]) / 3e9

    def by_cublas(self, A: Any, B: Any, C: Any) -> None:
        self.product(A, B, C)
        self.ms += 2.0 * A.shape[0] * A.shape[1] * B.shape[1] / (TFLOPS["cublas"] * 1e9)

    def product(self, A: np.ndarray, B: np.ndarray, C: np.ndarray) -> None:
        """Multiplied once: the timed launches only take time."""
        key = A.ctypes.data, B.ctypes.data
        if key not in self.products:
            self.products = {key: A @ B}
        if not np.isfinite(C[0, 0]):
            C[:] = self.products[key]

    def copy(self, target: np.ndarray, source: np.ndarray) -> None:
        self.ms += 2 * source.nbytes / (GBS["copy"] * 1e6)

    def event(self) -> float:
        return self.ms

    # ------------------------------------------------------------------ memory

    def empty(self, shape: Any, dtype: Any = np.float32) -> np.ndarray:
        return np.empty(shape, dtype)

    def to_device(self, x: np.ndarray) -> np.ndarray:
        return x.copy(order="K")

    def to_host(self, x: np.ndarray) -> np.ndarray:
        return np.array(x)

    def fill_bytes(self, x: np.ndarray, byte: int) -> None:
        if x.nbytes < 2**28:  # those of the roofs are as large as a GPU's memory
            x.view(np.uint8)[:] = byte


def compiles(one: Step, of: str) -> str:
    """What becomes of a step on a GPU of compute capability `of`: why it is refused, or what a
    block of it takes. Raises AssertionError where it is neither refused nor compiled."""
    there = device(of)
    if lacking := capability.lacking(one.compute_capability, one.shared_mem, there):
        return lacking
    arch = "sm_{}{}".format(*there.compute_capability)
    try:
        used, found = one.kernel.resources(arch), one.occupancy(of, arch)
    except CompileError as error:
        raise AssertionError(f"{one.label} is not refused for {of}: {error}") from None
    return f"{used.registers} registers, {found.blocks} on an SM, limited by {found.limit}"


def run_notebook(path: Path, of: str) -> list[str]:
    """Run a notebook on such a GPU; what it printed and where it failed."""
    import nbformat
    from nbclient import NotebookClient

    nb = nbformat.read(path, as_version=4)
    code = [n for n, cell in enumerate(nb.cells) if cell.cell_type == "code"]
    install = f"import sys; sys.path.append({str(ROOT / 'tests')!r}); import made_up\n"
    install += f"made_up.MadeUp({of!r}).install()"
    nb.cells.insert(code[0] + 1, nbformat.v4.new_code_cell(install))
    where = {"metadata": {"path": str(path.parent)}}
    NotebookClient(
        nb, timeout=600, kernel_name="python3", resources=where, allow_errors=True
    ).execute()
    found = []
    for n, cell in enumerate(nb.cells):
        for output in cell.get("outputs", ()):
            if output.output_type == "error":
                found.append(f"cell {n - 1} FAILED: {output.ename}: {output.evalue}")
            text = output.get("text") or output.get("data", {}).get("text/plain", "")
            if "made-up GPU" in text:
                found.append(f"cell {n - 1}: {text}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(required=True, dest="command")
    notebooks = commands.add_parser("notebooks")
    notebooks.add_argument("capability", choices=SMS)
    notebooks.add_argument("path", nargs="+", type=Path)
    compiling = commands.add_parser("compile")
    compiling.add_argument("capability", nargs="+", choices=SMS)
    options = parser.parse_args()
    failed = 0
    if options.command == "compile":
        for one in with_variants(steps()):
            for of in options.capability:
                print(f"{one.label}, {of}: {compiles(one, of)}", flush=True)
        return 0
    for path in options.path:
        begin = time.perf_counter()
        found = run_notebook(path, options.capability)
        failed += any("FAILED" in line for line in found)
        print(f"== {path.name}, {time.perf_counter() - begin:.0f} s", *found, sep="\n", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
