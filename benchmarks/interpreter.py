"""How fast the interpreter is: GFLOPS of a naive and of two tiled kernels.

    python benchmarks/interpreter.py [--repeat 3]

Compilation and decoding are not counted, as in a notebook that runs a kernel again.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import kernels

# Square tiles of TILE x TILE outputs, PER x PER of them in each thread; no edges.
TILED = r"""
#define SIDE (TILE / PER)

extern "C" __global__ void __launch_bounds__(SIDE * SIDE)
tiled(int N, int K, const float* A, const float* B, float* C)
{
    __shared__ float a[BK][TILE], b[BK][TILE];
    int x = threadIdx.x % SIDE, y = threadIdx.x / SIDE;
    float sum[PER][PER] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = threadIdx.x; i < BK * TILE; i += SIDE * SIDE) {
            a[i % BK][i / BK] = A[(blockIdx.y * TILE + i / BK) * K + k0 + i % BK];
            b[i / TILE][i % TILE] = B[(k0 + i / TILE) * N + blockIdx.x * TILE + i % TILE];
        }
        __syncthreads();
        for (int k = 0; k < BK; ++k)
            for (int i = 0; i < PER; ++i)
                for (int j = 0; j < PER; ++j)
                    sum[i][j] += a[k][y + i * SIDE] * b[k][x + j * SIDE];
        __syncthreads();
    }
    for (int i = 0; i < PER; ++i)
        for (int j = 0; j < PER; ++j)
            C[(blockIdx.y * TILE + y + i * SIDE) * N + blockIdx.x * TILE + x + j * SIDE]
                = sum[i][j];
}
"""


def tiled(tile: int, per: int, bk: int, n: int):
    """A launch of the tiled kernel for n x n matrices, without arguments."""
    options = [f"-DTILE={tile}", f"-DPER={per}", f"-DBK={bk}"]
    kernel = kernels.Kernel(TILED, "tiled", options, "tiled.cu")
    A, B, _ = kernels.inputs(n, n, n)
    C = np.empty((n, n), np.float32)
    grid, block = (n // tile, n // tile), (tile // per) ** 2
    return lambda: kernel(grid, block, (n, n, A, B, C), device="interpreter")


def step(name: str, n: int):
    """A launch of a step of the ladder."""
    A, B, _ = kernels.inputs(n, n, n)
    run = kernels.step(name)
    return lambda: run(A, B, device="interpreter")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=3, help="runs of each; the median counts")
    repeat = parser.parse_args().repeat
    print(f"{'kernel':32} {'n':>5} {'seconds':>8} {'GFLOPS':>7}")
    for name, n, launch in (
        ("02_naive", 256, step("02_naive", 256)),
        ("03_coalesced", 256, step("03_coalesced", 256)),
        ("tile 32x32, 1 per thread", 512, tiled(32, 1, 32, 512)),
        ("tile 64x64, 4x4 per thread", 512, tiled(64, 4, 16, 512)),
        ("tile 128x128, 8x8 per thread", 512, tiled(128, 8, 8, 512)),
    ):
        launch()  # compiles and decodes
        times = []
        for _ in range(repeat):
            start = time.perf_counter()
            launch()
            times.append(time.perf_counter() - start)
        seconds = float(np.median(times))
        print(f"{name:32} {n:5} {seconds:8.2f} {2 * n**3 / seconds / 1e9:7.2f}", flush=True)


if __name__ == "__main__":
    main()
