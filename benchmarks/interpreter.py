"""How fast the interpreter is: GFLOPS of SGEMM kernels, times of others, of traces and sanitizing.

    python benchmarks/interpreter.py [--repeat 3]

Compilation and decoding are not counted, as in a notebook that runs a kernel again; but of the
long source both are, and what a first trace finds out about its instructions.
"""

from __future__ import annotations

import argparse
import functools
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
    kernel = kernels.Kernel(TILED, "tiled", options, filename="tiled.cu")
    A, B, _ = kernels.inputs(n, n, n)
    C = np.empty((n, n), np.float32)
    grid, block = (n // tile, n // tile), (tile // per) ** 2
    return lambda: kernel(grid, block, (n, n, A, B, C), device="interpreter")


def step(name: str, n: int):
    """A launch of a step of the ladder."""
    A, B, _ = kernels.inputs(n, n, n)
    run = kernels.step(name)
    return lambda: run(A, B, device="interpreter")


OTHERS = r"""
extern "C" __global__ void add(int n, const float* a, const float* b, float* c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void reduce(int n, const float* in, float* sum)
{
    __shared__ float s[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int o = 128; o; o >>= 1) {
        if (t < o) s[t] += s[t + o];
        __syncthreads();
    }
    if (t == 0) sum[blockIdx.x] = s[0];
}

extern "C" __global__ void histogram(int n, const unsigned char* in, unsigned* bins)
{
    __shared__ unsigned own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        atomicAdd(&own[in[i]], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

extern "C" __global__ void heat(int n, const float* in, float* out)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
        out[y * n + x] = in[y * n + x] + 0.1f * (in[y * n + x - 1] + in[y * n + x + 1]
            + in[(y - 1) * n + x] + in[(y + 1) * n + x] - 4 * in[y * n + x]);
}

extern "C" __global__ void transpose(int n, const float* in, float* out)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) out[(y + i) * n + x] = tile[threadIdx.x][threadIdx.y + i];
}

extern "C" __global__ void mandelbrot(int width, int height, int* out)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, n = 0;
    float a = -2 + 3.f * x / width, b = -1 + 2.f * y / height, u = 0, v = 0;
    for (; n < 100 && u * u + v * v < 4; ++n) {
        float next = u * u - v * v + a;
        v = 2 * u * v + b;
        u = next;
    }
    out[y * width + x] = n;
}
"""
MILLION, SIDE = 1_000_000, 1024


def others():
    """(name, elements, launch) of kernels that are not SGEMM."""
    random = np.random.default_rng(1)
    a, b, c = random.random((3, MILLION), np.float32)
    plane, result = random.random((SIDE, SIDE), np.float32), np.zeros((SIDE, SIDE), np.float32)
    data, bins = random.integers(0, 256, MILLION, np.uint8), np.zeros(256, np.uint32)
    image = np.zeros((480, 640), np.int32)
    blocks = -(-MILLION // 256)
    sums = np.zeros(blocks, np.float32)
    strips, tiles = (SIDE // 32, SIDE // 8), (SIDE // 32, SIDE // 32)
    for name, grid, block, args in (
        ("add", blocks, 256, (MILLION, a, b, c)),
        ("reduce", blocks, 256, (MILLION, a, sums)),
        ("histogram", 128, 256, (MILLION, data, bins)),
        ("heat", strips, (32, 8), (SIDE, plane, result)),
        ("transpose", tiles, (32, 8), (SIDE, plane, result)),
        ("mandelbrot", (20, 60), (32, 8), (640, 480, image)),
    ):
        kernel = kernels.Kernel(OTHERS, name, filename="others.cu")
        size = image.size if name == "mandelbrot" else args[1].size
        yield name, size, functools.partial(kernel, grid, block, args, device="interpreter")


def long_source(lines: int) -> str:
    """A kernel of about so many lines of unlike loads, branches, barriers and sums."""
    body = "".join(
        f"    x = x * {1 + i % 7}.5f + in[(t + {i % 50}) & 255];\n"
        f"    if (x > {i}.f) x -= {i % 13}.25f;\n"
        f"    s[(t + {i}) & 255] = x; __syncthreads();\n"
        f"    x += s[(t * {i % 9}) & 255]; j += (int)x & {i % 31};\n"
        for i in range(lines // 4)
    )
    return (
        'extern "C" __global__ void lengthy(const float* in, float* out)\n{\n'
        "    __shared__ float s[256];\n    int t = threadIdx.x, j = t;\n    float x = in[t];\n"
        f"{body}    out[t] = x + j;\n}}\n"
    )


def seconds_of(launch, repeat: int = 1) -> float:
    """The median of so many runs."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        launch()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=3, help="runs of each; the median counts")
    repeat = parser.parse_args().repeat
    print(f"{'kernel':32} {'n':>5} {'seconds':>8} {'GFLOPS':>7}")
    for name, n, launch in (
        ("02_naive", 256, step("02_naive", 256)),
        ("03_coalesced", 256, step("03_coalesced", 256)),
        ("05_shared_tiling", 512, step("05_shared_tiling", 512)),
        ("06_bank_conflicts", 512, step("06_bank_conflicts", 512)),
        ("09_thread_tile_2d", 512, step("09_thread_tile_2d", 512)),
        ("12_warp_tiling", 512, step("12_warp_tiling", 512)),
        ("14_double_buffering", 512, step("14_double_buffering", 512)),
        ("tile 32x32, 1 per thread", 512, tiled(32, 1, 32, 512)),
        ("tile 64x64, 4x4 per thread", 512, tiled(64, 4, 16, 512)),
        ("tile 128x128, 8x8 per thread", 512, tiled(128, 8, 8, 512)),
    ):
        launch()  # compiles and decodes
        seconds = seconds_of(launch, repeat)
        print(f"{name:32} {n:5} {seconds:8.2f} {2 * n**3 / seconds / 1e9:7.2f}", flush=True)

    print(f"\n{'kernel':20} {'elements':>10} {'ms':>8}")
    for name, size, launch in others():
        launch()
        print(f"{name:20} {size:10,} {1e3 * seconds_of(launch, repeat):8.0f}", flush=True)

    print(f"\n{'traced':32} {'seconds':>8}")
    double = kernels.step("14_double_buffering")
    double.trace(128, 128, 128)
    seconds = seconds_of(lambda: double.trace(512, 512, 512), repeat)
    print(f"{'14_double_buffering, 512^3':32} {seconds:8.2f}", flush=True)
    double.sanitize(128, 128, 128)
    seconds = seconds_of(lambda: double.sanitize(512, 512, 512))
    print(f"{'the same, sanitized':32} {seconds:8.2f}", flush=True)
    lengthy = kernels.Kernel(long_source(5000), "lengthy", filename="lengthy.cu")
    args = np.ones(256, np.float32), np.zeros(256, np.float32)
    seconds = seconds_of(lambda: lengthy.trace(1, 256, args))
    print(f"{'a source of 5000 lines':32} {seconds:8.2f}")


if __name__ == "__main__":
    main()
