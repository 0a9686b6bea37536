"""Kernels for the sanitizer: correct ones, and the same with one fault planted.

A line that ends in `// fault` is where a finding has to stand, `// other` where the earlier
access of two has to.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Planted:
    """`args` as `python -m kernels sanitize --args` takes them. `kinds`: those of all findings;
    none for a correct kernel."""

    name: str
    source: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: str
    kinds: frozenset[str] = frozenset()
    shared_mem: int = 0

    def lines(self, marker: str) -> set[int]:
        return {
            n
            for n, text in enumerate(self.source.splitlines(), 1)
            if re.search(rf"// {marker}$", text)
        }


SGEMM = """\
extern "C" __global__ void sgemm(int M, int N, int K, float alpha, const float* A,
                                 const float* B, float beta, float* C)
{
"""
STORE = """
    if (row < M && col < N)
        C[row * N + col] = beta == 0.0f ? alpha * sum : alpha * sum + beta * C[row * N + col];
}
"""

TILED = (
    """\
#define BM 16
#define BN 16
#ifndef BK
#define BK 16
#endif
"""
    + SGEMM
    + """\
    __shared__ float tile_a[BM][BK], tile_b[BK][BN];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * BM + ty, col = blockIdx.x * BN + tx;
    float sum = 0.0f;
    for (int start = 0; start < K; start += BK) {
        tile_a[ty][tx] = row < M && start + tx < K ? A[row * K + start + tx] : 0.0f;
        tile_b[ty][tx] = start + ty < K && col < N ? B[(start + ty) * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < BK; ++k)
            sum += tile_a[ty][k] * tile_b[k][tx];
        __syncthreads();
    }
"""
    + STORE
)

DOUBLE_BUFFERED = (
    """\
constexpr int BK = 16;
"""
    + SGEMM
    + """\
    __shared__ float tile_a[2][16][BK], tile_b[2][BK][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    int now = 0;
    tile_a[0][ty][tx] = row < M && tx < K ? A[row * K + tx] : 0.0f;
    tile_b[0][ty][tx] = ty < K && col < N ? B[ty * N + col] : 0.0f;
    __syncthreads();
    for (int start = 0; start < K; start += BK) {
        int next = start + BK;
        if (next < K) {
            tile_a[now ^ 1][ty][tx] = row < M && next + tx < K ? A[row * K + next + tx] : 0.0f;
            tile_b[now ^ 1][ty][tx] = next + ty < K && col < N ? B[(next + ty) * N + col] : 0.0f;
        }
        for (int k = 0; k < BK; ++k)
            sum += tile_a[now][ty][k] * tile_b[now][k][tx];
        __syncthreads();
        now ^= 1;
    }
"""
    + STORE
)

ASYNC = (
    """\
__device__ __forceinline__ void copy(float* to, const float* from)
{
    unsigned address = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(address), "l"(from));
}
"""
    + SGEMM
    + """\
    __shared__ float tile_a[3][16][16], tile_b[3][16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    int tiles = K / 16;
    for (int t = 0; t < 2; ++t) {
        if (t < tiles) {
            copy(&tile_a[t][ty][tx], &A[row * K + t * 16 + tx]);
            copy(&tile_b[t][ty][tx], &B[(t * 16 + ty) * N + col]);
        }
        asm volatile("cp.async.commit_group;");
    }
    for (int t = 0; t < tiles; ++t) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        int next = t + 2;
        if (next < tiles) {
            copy(&tile_a[next % 3][ty][tx], &A[row * K + next * 16 + tx]);
            copy(&tile_b[next % 3][ty][tx], &B[(next * 16 + ty) * N + col]);
        }
        asm volatile("cp.async.commit_group;");
        for (int k = 0; k < 16; ++k)
            sum += tile_a[t % 3][ty][k] * tile_b[t % 3][k][tx];
    }
"""
    + STORE
)

SHUFFLES = """\
extern "C" __global__ void reduce(int n, const float* in, float* out)
{
    __shared__ float partial[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? in[i] : 0.0f;
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.0f;
        for (int step = 16; step > 0; step /= 2)
            sum += __shfl_down_sync(0xffffffff, sum, step);
        if (threadIdx.x == 0)
            out[blockIdx.x] = sum;
    }
}
"""

WARP_TILE = """\
extern "C" __global__ void reduce(int n, const float* in, float* out)
{
    __shared__ float s[8][32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    s[warp][lane] = in[blockIdx.x * blockDim.x + threadIdx.x];
    __syncwarp();
    for (int step = 16; step > 0; step /= 2) {
        float other = lane < step ? s[warp][lane + step] : 0.0f;
        __syncwarp();
        if (lane < step)
            s[warp][lane] += other;
        __syncwarp();
    }
    if (lane == 0)
        out[blockIdx.x * 8 + warp] = s[warp][0];
}
"""

# halves of a block as producer and consumer, with named barriers
NAMED = """\
extern "C" __global__ void pass(int n, const float* in, float* out)
{
    __shared__ float box[64];
    int t = threadIdx.x % 64;
    if (threadIdx.x < 64) {
        for (int i = t; i < n; i += 64) {
            asm volatile("bar.sync 1, 128;" ::: "memory");
            box[t] = in[i];
            asm volatile("bar.arrive 2, 128;" ::: "memory");
        }
    } else {
        for (int i = t; i < n; i += 64) {
            asm volatile("bar.arrive 1, 128;" ::: "memory");
            asm volatile("bar.sync 2, 128;" ::: "memory");
            out[i] = box[63 - t];
        }
    }
}
"""

# the last block to arrive adds up what the others left
LAST_BLOCK = """\
extern "C" __global__ void total(int n, const float* in, float* partial, unsigned* done, float* out)
{
    __shared__ bool last;
    float sum = 0.0f;
    if (threadIdx.x == 0) {
        for (int i = 0; i < 64; ++i)
            sum += in[blockIdx.x * 64 + i];
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(done, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        sum = 0.0f;
        for (int i = 0; i < gridDim.x; ++i)
            sum += partial[i];
        *out = sum;
    }
}
"""

HISTOGRAM = """\
extern "C" __global__ void count(int n, const int* in, int* out, int* any)
{
    extern __shared__ int bins[];
    if (threadIdx.x < 10)
        bins[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&bins[in[i]], 1);
        *any = 1;
    }
    __syncthreads();
    if (threadIdx.x < 10)
        atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}
"""

VECTORS = """\
extern "C" __global__ void scale(int n, float x, const float* in, float* out)
{
    __shared__ float4 box[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    box[threadIdx.x] = reinterpret_cast<const float4*>(in)[i];
    __syncthreads();
    float4 v = box[63 - threadIdx.x];
    v.x *= x; v.y *= x; v.z *= x; v.w *= x;
    reinterpret_cast<float4*>(out)[i] = v;
}
"""

LOCAL = """\
extern "C" __global__ void pick(int n, const int* in, int* out)
{
    int seen[10];
    int t = threadIdx.x;
    for (int i = 0; i < 10; ++i)
        seen[i] = 0;
    for (int i = 0; i < n; ++i)
        ++seen[in[(t + i) % 64]];
    out[t] = seen[in[t]];
}
"""

MATRICES = "64 64 64 1.0 float[64,64] float[64,64] 0.0 out:float[64,64]"
ODD = "67 71 73 1.0 float[67,73] float[73,71] 0.0 out:float[67,71]"
UPDATED = "67 71 73 1.5 float[67,73] float[73,71] -0.5 float[67,71]"
VECTOR = "256 float[256] out:float[256]"

BAR = "        __syncthreads();\n"
LOAD_A = "tile_a[ty][tx] = row < M && start + tx < K ? A[row * K + start + tx] : 0.0f;"
LOAD_B = "tile_b[ty][tx] = start + ty < K && col < N ? B[(start + ty) * N + col] : 0.0f;"
SUM = "sum += tile_a[ty][k] * tile_b[k][tx];"
SUM_NOW = "sum += tile_a[now][ty][k] * tile_b[now][k][tx];"
SUM_T = "sum += tile_a[t % 3][ty][k] * tile_b[t % 3][k][tx];"
NEXT_A = "row < M && next + tx < K ? A[row * K + next + tx] : 0.0f;"
NEXT_B = "next + ty < K && col < N ? B[(next + ty) * N + col] : 0.0f;"
WAIT = 'asm volatile("cp.async.wait_group 1;" ::: "memory");'
COPY = 'asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(address), "l"(from));'


def edit(source: str, *changes: tuple[str, str]) -> str:
    """The source with each old text, which must be there, replaced once."""
    for old, new in changes:
        if old not in source:
            raise ValueError(f"nothing to replace: {old!r}")
        source = source.replace(old, new, 1)
    return source


def marked(text: str, marker: str) -> tuple[str, str]:
    return text, f"{text} // {marker}"


def sgemm(name, source, args=MATRICES, *kinds, grid=(4, 4)) -> Planted:
    return Planted(name, source, "sgemm", grid, (16, 16), args, frozenset(kinds))


def small(name, source, kernel, grid, block, args, *kinds, shared_mem=0) -> Planted:
    return Planted(name, source, kernel, (grid,), (block,), args, frozenset(kinds), shared_mem)


CORRECT = (
    sgemm("tiled", TILED),
    sgemm("tiled, odd shape", TILED, ODD, grid=(5, 5)),
    sgemm("tiled, beta", TILED, UPDATED, grid=(5, 5)),
    sgemm("double buffered", DOUBLE_BUFFERED),
    sgemm("double buffered, odd shape", DOUBLE_BUFFERED, ODD, grid=(5, 5)),
    sgemm("asynchronous", ASYNC),
    small("shuffles", SHUFFLES, "reduce", 3, 128, "300 float[300] out:float[3]"),
    small("warp tile", WARP_TILE, "reduce", 1, 256, VECTOR),
    small("named barriers", NAMED, "pass", 2, 128, VECTOR),
    small(
        "last block",
        LAST_BLOCK,
        "total",
        4,
        64,
        "256 float[256] out:float[4] zero:unsigned[1] out:float[1]",
    ),
    small(
        "histogram",
        HISTOGRAM,
        "count",
        4,
        64,
        "250 int[250] zero:int[10] out:int[1]",
        shared_mem=40,
    ),
    small("vectors", VECTORS, "scale", 2, 64, "512 2.0 float[512] out:float[512]"),
    small("local", LOCAL, "pick", 1, 64, "20 int[64] out:int[64]"),
    small(
        "barrier after an exit",
        """\
extern "C" __global__ void early(int n, const float* in, float* out)
{
    __shared__ float box[64];
    if (threadIdx.x >= n)
        return;
    box[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = box[n - 1 - threadIdx.x];
}
""",
        "early",
        1,
        64,
        "50 float[256] out:float[256]",
    ),
)

FAULTY = (
    sgemm(
        "no first barrier",
        edit(
            TILED, marked(LOAD_A, "other"), marked(LOAD_B, "other"), (BAR, ""), marked(SUM, "fault")
        ),
        MATRICES,
        "race",
    ),
    sgemm(
        "no second barrier",
        edit(TILED[::-1], (BAR[::-1], ""))[::-1]
        .replace(LOAD_A, LOAD_A + " // fault")
        .replace(LOAD_B, LOAD_B + " // fault")
        .replace(SUM, SUM + " // other"),
        MATRICES,
        "race",
    ),
    sgemm(
        "<= in the tile loop",
        edit(TILED, ("k < BK", "k <= BK"), marked(SUM, "fault")),
        MATRICES,
        "out of bounds",
    ),
    sgemm(
        "no guard for A",
        edit(TILED, (LOAD_A, "tile_a[ty][tx] = A[row * K + start + tx]; // fault")),
        ODD,
        "out of bounds",
        grid=(5, 5),
    ),
    sgemm(
        "no guard for C",
        edit(
            TILED,
            ("if (row < M && col < N)", "if (col < N)"),
            ("C[row * N + col] =", "C[row * N + col] = // fault\n"),
        ),
        ODD,
        "out of bounds",
        grid=(5, 5),
    ),
    sgemm(
        "no guard for a column of C",
        edit(
            TILED,
            ("if (row < M && col < N)", "if (row < M)"),
            ("C[row * N + col] =", "C[row * N + col] = // fault\n"),
        ),
        ODD,
        "out of bounds",
        "race",
        grid=(5, 5),
    ),
    sgemm(
        "C is read although beta is 0",
        edit(
            TILED,
            (
                "beta == 0.0f ? alpha * sum : alpha * sum + beta * C[row * N + col];",
                "alpha * sum + beta * C[row * N + col]; // fault",
            ),
        ),
        MATRICES,
        "uninitialised",
    ),
    sgemm(
        "read before the store",
        edit(
            TILED, ("    for (int start", "    sum = tile_a[ty][tx]; // fault\n    for (int start")
        ),
        MATRICES,
        "uninitialised",
    ),
    sgemm(
        "barrier of some threads",
        edit(
            TILED,
            (
                BAR,
                "        if (threadIdx.x < 16 && ty < 15)\n            __syncthreads(); // fault\n",
            ),
            (BAR, BAR[:-1] + " // fault\n"),
            marked(SUM, "fault"),
            marked(LOAD_A, "other"),
            marked(LOAD_B, "other"),
        ),
        MATRICES,
        "barrier",
        "race",
    ),
    small(
        "barrier under an if",
        """\
extern "C" __global__ void half(int n, const float* in, float* out)
{
    if (threadIdx.x < 16)
        __syncthreads(); // fault
    out[threadIdx.x] = in[threadIdx.x];
}
""",
        "half",
        1,
        32,
        VECTOR,
        "barrier",
    ),
    sgemm(
        "swapped buffers",
        edit(
            DOUBLE_BUFFERED,
            ("            tile_a[now ^ 1]", "            tile_a[now]"),
            marked(NEXT_A, "other"),
            marked(SUM_NOW, "fault"),
        ),
        MATRICES,
        "race",
    ),
    sgemm(
        "double buffered, no barrier",
        edit(
            DOUBLE_BUFFERED,
            ("        __syncthreads();\n        now", "        now"),
            marked(NEXT_A, "fault other"),
            marked(NEXT_B, "fault other"),
            marked(SUM_NOW, "fault other"),
        ),
        MATRICES,
        "race",
    ),
    sgemm(
        "no wait",
        edit(ASYNC, (WAIT, ""), marked(COPY, "fault other"), marked(SUM_T, "fault")),
        MATRICES,
        "asynchronous copy",
    ),
    sgemm(
        "waits for too little",
        edit(ASYNC, (WAIT, WAIT.replace("1", "2")), marked(COPY, "other"), marked(SUM_T, "fault")),
        MATRICES,
        "asynchronous copy",
    ),
    sgemm(
        "barrier before the wait",
        edit(
            ASYNC,
            (WAIT + "\n        __syncthreads();", "__syncthreads();\n        " + WAIT),
            marked(COPY, "fault other"),
            marked(SUM_T, "fault other"),
        ),
        MATRICES,
        "race",
    ),
    sgemm(
        "two stages for three",
        edit(ASYNC, ("next % 3", "t % 3"), marked(COPY, "other"), marked(SUM_T, "fault")),
        MATRICES,
        "asynchronous copy",
        "uninitialised",
    ),
    small(
        "copy overwritten in flight",
        """\
extern "C" __global__ void twice(int n, const float* in, float* out)
{
    __shared__ float box[64];
    unsigned address = (unsigned)__cvta_generic_to_shared(&box[threadIdx.x]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(address), "l"(in)); // other
    box[threadIdx.x] = 1.0f; // fault
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[threadIdx.x] = box[threadIdx.x];
}
""",
        "twice",
        1,
        64,
        VECTOR,
        "asynchronous copy",
    ),
    small(
        "misaligned float4",
        """\
extern "C" __global__ void shifted(int n, const float* in, float* out)
{
    const float* from = in + 1;
    float4 v = reinterpret_cast<const float4*>(from)[threadIdx.x]; // fault
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
""",
        "shifted",
        1,
        32,
        VECTOR,
        "misaligned",
    ),
    small(
        "misaligned float4 in a padded tile",
        """\
extern "C" __global__ void padded(int n, const float* in, float* out)
{
    __shared__ __align__(16) float tile[8][33];
    for (int i = threadIdx.x; i < 8 * 33; i += 32)
        tile[0][i] = in[i % n];
    __syncthreads();
    float4 v = *reinterpret_cast<float4*>(&tile[threadIdx.x / 8][threadIdx.x % 8 * 4]); // fault
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
""",
        "padded",
        1,
        32,
        VECTOR,
        "misaligned",
    ),
    small(
        "two lanes, one store",
        """\
extern "C" __global__ void pairs(int n, const float* in, float* out)
{
    __shared__ float box[32];
    box[threadIdx.x / 2] = threadIdx.x; // fault other
    __syncthreads();
    out[threadIdx.x] = box[threadIdx.x / 2];
}
""",
        "pairs",
        1,
        32,
        VECTOR,
        "race",
    ),
    small(
        "two stores of a warp",
        """\
extern "C" __global__ void stores(int n, const float* in, float* out)
{
    __shared__ float box[32];
    box[threadIdx.x] = in[threadIdx.x]; // other
    if (threadIdx.x == 0)
        box[5] = -9.0f; // fault
    __syncthreads();
    out[threadIdx.x] = box[threadIdx.x];
}
""",
        "stores",
        1,
        32,
        VECTOR,
        "race",
    ),
    small(
        "neighbour in the warp",
        """\
extern "C" __global__ void shift(int n, const float* in, float* out)
{
    __shared__ float box[33];
    box[threadIdx.x] = in[threadIdx.x]; // other
    if (threadIdx.x == 0)
        box[32] = 0.0f;
    out[threadIdx.x] = box[threadIdx.x ^ 1]; // fault
}
""",
        "shift",
        1,
        32,
        VECTOR,
        "race",
    ),
    small(
        "a warp's tree without __syncwarp",
        edit(
            WARP_TILE,
            ("        __syncwarp();\n    }", "    }"),
            ("s[warp][lane + step] : 0.0f;", "s[warp][lane + step] : 0.0f; // fault"),
            ("+= other;", "+= other; // other"),
        ),
        "reduce",
        1,
        256,
        VECTOR,
        "race",
    ),
    small(
        "half a warp waits",
        """\
extern "C" __global__ void part(int n, const float* in, float* out)
{
    __shared__ float box[32];
    box[threadIdx.x] = in[threadIdx.x]; // other
    __syncwarp(threadIdx.x < 16 ? 0xffff : 0xffff0000);
    out[threadIdx.x] = box[threadIdx.x ^ 16]; // fault
}
""",
        "part",
        1,
        32,
        VECTOR,
        "race",
    ),
    small(
        "blocks write one place",
        """\
extern "C" __global__ void everybody(int n, const float* in, float* out)
{
    if (threadIdx.x == 0)
        out[3] = in[blockIdx.x]; // fault other
}
""",
        "everybody",
        4,
        32,
        VECTOR,
        "race",
    ),
    small(
        "a block reads what another writes",
        """\
extern "C" __global__ void next(int n, float* data, float* out)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    out[i] = data[(i + 32) % n]; // other
    data[i] = 1.0f; // fault
}
""",
        "next",
        8,
        32,
        VECTOR,
        "race",
    ),
    small(
        "sums without atomics",
        """\
extern "C" __global__ void sums(int n, const float* in, float* out)
{
    out[threadIdx.x] += in[blockIdx.x * 32 + threadIdx.x]; // fault other
}
""",
        "sums",
        8,
        32,
        "256 float[256] zero:float[32]",
        "race",
    ),
    small(
        "last block, no fence",
        edit(
            LAST_BLOCK,
            ("        __threadfence();\n", ""),
            ("partial[blockIdx.x] = sum;", "partial[blockIdx.x] = sum; // other"),
            ("sum += partial[i];", "sum += partial[i]; // fault"),
        ),
        "total",
        4,
        64,
        "256 float[256] out:float[4] zero:unsigned[1] out:float[1]",
        "race",
    ),
    small(
        "histogram, no barrier",
        edit(
            HISTOGRAM,
            ("    }\n    __syncthreads();", "    }"),
            ("&bins[in[i]], 1);", "&bins[in[i]], 1); // other"),
            ("bins[threadIdx.x]);", "bins[threadIdx.x]); // fault"),
        ),
        "count",
        4,
        64,
        "250 int[250] zero:int[10] out:int[1]",
        "race",
        shared_mem=40,
    ),
    small(
        "dynamic shared memory too small",
        edit(
            HISTOGRAM,
            ("bins[threadIdx.x] = 0;", "bins[threadIdx.x] = 0; // fault"),
            ("1);", "1); // fault"),
            ("bins[threadIdx.x]);", "bins[threadIdx.x]); // fault"),
        ),
        "count",
        4,
        64,
        "250 int[250] zero:int[10] out:int[1]",
        "out of bounds",
        shared_mem=36,
    ),
    small(
        "bins are not cleared",
        edit(
            HISTOGRAM,
            ("    if (threadIdx.x < 10)\n        bins[threadIdx.x] = 0;\n", ""),
            ("&bins[in[i]], 1);", "&bins[in[i]], 1); // fault"),
        ),
        "count",
        1,
        64,
        "250 int[250] zero:int[10] out:int[1]",
        "uninitialised",
        shared_mem=40,
    ),
    small(
        "local element nobody set",
        edit(
            LOCAL,
            ("i < 10", "i < 9"),
            ("++seen[in[(t + i) % 64]];", "++seen[in[(t + i) % 64]]; // fault"),
        ),
        "pick",
        1,
        64,
        "20 int[64] out:int[64]",
        "uninitialised",
    ),
    small(
        "local array too short",
        edit(
            LOCAL,
            ("seen[10]", "seen[9]"),
            ("i < 10", "i < 9"),
            ("++seen[in[(t + i) % 64]];", "++seen[in[(t + i) % 64]]; // fault"),
            ("seen[in[t]];", "seen[in[t]]; // fault"),
        ),
        "pick",
        1,
        64,
        "20 int[64] out:int[64]",
        "out of bounds",
    ),
)

# stays in bounds and ordered: only the result is wrong
SWAPPED = sgemm("swapped index", edit(TILED, ("tile_b[k][tx]", "tile_b[tx][k]")))
