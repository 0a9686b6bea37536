"""`kernels.sgemm` beside cuBLAS on shapes drawn at random.

    python benchmarks/shapes.py [--seed 2026] [--count 64] [--tensor-cores] [--output PATH]

Half of the shapes have odd sides; sides are 16 to 8192, their logarithms uniform. Times are those
of the GPU, all launches of a product, L2 cold, each round beside cuBLAS FP32. Prints a table, the
geometric mean of cuBLAS's time over ours, and the worst; with --tensor-cores, of the shapes that
have at least 2^27 multiply-adds. Needs a GPU.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import statistics
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import kernels
from anywarp import gpu
from kernels.analysis.reference import assert_close
from kernels.measure import bench, cublas, splits
from kernels.measure.provenance import provenance
from kernels.records import write

SEED = 2026
LARGE = 2**27  # multiply-adds from which tensor cores are worth while


def compared(shape: tuple[int, int, int], repeats: int, tensor_cores: bool) -> dict:
    """Medians of `sgemm` and cuBLAS at a shape, in microseconds, and what was chosen."""
    M, N, K = shape
    host_A, host_B, _ = kernels.inputs(M, N, K)
    A, B, C = gpu.to_device(host_A), gpu.to_device(host_B), gpu.empty((M, N))
    ours = functools.partial(kernels.sgemm, A, B, C, tensor_cores=tensor_cores)
    gpu.fill_bytes(C, 0xFF)
    ours()
    rows = np.random.default_rng(0).choice(M, min(M, 16), replace=False)
    assert_close(gpu.to_host(C)[rows], host_A[rows], host_B)
    flush = bench.flusher()
    works = [functools.partial(cublas.sgemm, A, B, C), ours]
    bench.rounds(works, flush, 3, 0)
    by_cublas, us = (1000 * statistics.median(ms) for ms in bench.rounds(works, flush, repeats, 0))
    return {
        "M": M, "N": N, "K": K, "us": round(us, 2), "cublas_us": round(by_cublas, 2),
        "step": kernels.sgemm.plan(A, B, C, tensor_cores=tensor_cores).step.label,
    }  # fmt: skip


def wanted(seed: int, count: int, tensor_cores: bool) -> list[tuple[int, int, int]]:
    """The shapes to time."""
    drawn = splits.drawn(seed, count)
    return [shape for shape in drawn if not tensor_cores or math.prod(shape) >= LARGE]


def line(row: dict) -> str:
    ours, cublas_us = row["us"], row["cublas_us"]
    return (
        f"{row['M']:5} {row['N']:5} {row['K']:5} {ours:8.1f} us {cublas_us:8.1f} us "
        f"{cublas_us / ours:6.2f}  {row['step']}"
    )


def summary(rows: list[dict]) -> str:
    ratios = [row["cublas_us"] / row["us"] for row in rows]
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    return f"geometric mean {mean:.3f}, worst {min(ratios):.3f}, of {len(ratios)} shapes"


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=20, help="of each shape")
    parser.add_argument("--tensor-cores", action="store_true")
    parser.add_argument("--output", type=Path, help="where to record what was measured")
    options = parser.parse_args(argv)
    gpu.require()
    rows = []
    print("    M     N     K      sgemm     cuBLAS  ratio")
    for shape in wanted(options.seed, options.count, options.tensor_cores):
        rows.append(compared(shape, options.repeats, options.tensor_cores))
        print(line(rows[-1]), flush=True)
    print(summary(rows))
    if options.output:
        kind = {"seed": options.seed, "tensor_cores": options.tensor_cores}
        origin = provenance(cublas=cublas.version(), **kind)
        write(options.output, json.dumps({"provenance": origin, "shapes": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
