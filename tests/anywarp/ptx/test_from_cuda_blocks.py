"""CUDA C++ whose threads work together: shared memory, shuffles, atomics, copies, assembly."""

from __future__ import annotations

import numpy as np
import pytest
from harness import run_cuda

from anywarp.kernel import Kernel

COOPERATIVE = """
extern __shared__ float dynamic[];
extern "C" __global__ void reduce(const float* x, float* out, int n) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[blockIdx.x * n + i];
    dynamic[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) dynamic[threadIdx.x] += dynamic[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = dynamic[0];
}
extern "C" __global__ void warps(const int* x, int* out) {
    int v = x[threadIdx.x];
    for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(~0u, v, d);
    unsigned odd = __ballot_sync(~0u, x[threadIdx.x] & 1);
    int segment = __shfl_xor_sync(~0u, x[threadIdx.x], 3, 8);
    int count = __syncthreads_count(x[threadIdx.x] > 50);
    out[4 * threadIdx.x] = __shfl_sync(~0u, v, 0);
    out[4 * threadIdx.x + 1] = odd;
    out[4 * threadIdx.x + 2] = segment;
    out[4 * threadIdx.x + 3] = count;
}
extern "C" __global__ void histogram(const int* x, int* counts, int n) {
    __shared__ int local[10];
    if (threadIdx.x < 10) local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[x[i]], 1);
    __syncthreads();
    if (threadIdx.x < 10) atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}
extern "C" __global__ void vectors(const float4* x, float4* y, const short2* s, int* sums) {
    int i = threadIdx.x;
    float4 v = x[i];
    y[i] = make_float4(v.w, v.z, v.y, v.x);
    sums[i] = s[i].x + s[i].y;
}
extern "C" __global__ void assembly(const int* x, int* out) {
    int i = threadIdx.x, r, q;
    asm("{ .reg .pred p; setp.gt.s32 p, %1, 10; selp.s32 %0, 100, 200, p; }" : "=r"(r) : "r"(x[i]));
    asm("{ .reg .pred p; setp.gt.s32 p, %1, 20; selp.s32 %0, 1, 2, p; }" : "=r"(q) : "r"(x[i]));
    out[i] = r + q;
}
extern "C" __global__ void pipeline(const float4* x, float* out, int rounds) {
    __shared__ float4 stage[2][32];
    unsigned base = (unsigned)__cvta_generic_to_shared(&stage[0][0]);
    int t = threadIdx.x;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(base + 16 * t), "l"(x + t));
    asm volatile("cp.async.commit_group;");
    float sum = 0.0f;
    for (int i = 0; i < rounds; ++i) {
        if (i + 1 < rounds)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                         :: "r"(base + 16 * (32 * ((i + 1) & 1) + t)), "l"(x + 32 * (i + 1) + t));
        asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        float4 v = stage[i & 1][31 - t];
        sum += v.x + 2 * v.y + 3 * v.z + 4 * v.w;
        __syncthreads();
    }
    out[t] = sum;
}
extern "C" __global__ void generic(const int* x, int* out, int which) {
    __shared__ int s[32];
    int l[4];
    for (int i = 0; i < 4; ++i) l[i] = x[threadIdx.x] + i;
    s[threadIdx.x] = 7 * x[threadIdx.x];
    __syncthreads();
    const int* p = which == 0 ? x : which == 1 ? (const int*)s : (const int*)l;
    out[threadIdx.x] = p[(threadIdx.x + which) & 3];
}
"""


def test_reduction_in_dynamic_shared_memory():
    n, blocks = 150, 3
    x = np.array([(i * 37) % 101 for i in range(n * blocks)], np.float32)
    out = np.zeros(blocks, np.float32)
    run_cuda(COOPERATIVE, "reduce", blocks, 64, [x, out, np.int32(n)], shared_mem=256)
    assert out.tolist() == [sum((i * 37) % 101 for i in range(n * b, n * b + n)) for b in range(3)]


def test_warp_functions():
    x = [(t * 29) % 100 for t in range(64)]
    out = np.zeros(256, np.uint32)
    run_cuda(COOPERATIVE, "warps", 1, 64, [np.array(x, np.int32), out])
    for t in range(64):
        warp = x[t // 32 * 32 :][:32]
        odd = sum((v & 1) << i for i, v in enumerate(warp))
        want = [sum(warp), odd, x[t ^ 3], sum(v > 50 for v in x)]
        assert out[4 * t : 4 * t + 4].tolist() == want


def test_histogram():
    x = [i * i % 10 for i in range(3000)]
    counts = np.zeros(10, np.int32)
    run_cuda(COOPERATIVE, "histogram", 4, 96, [np.array(x, np.int32), counts, np.int32(3000)])
    assert counts.tolist() == [x.count(d) for d in range(10)]


def test_vector_types():
    x, s = np.arange(160, dtype=np.float32), np.arange(-40, 40, dtype=np.int16)
    y, sums = np.zeros(160, np.float32), np.zeros(40, np.int32)
    run_cuda(COOPERATIVE, "vectors", 1, 40, [x, y, s, sums])
    assert y.tolist() == [4 * (i // 4) + 3 - i % 4 for i in range(160)]
    assert sums.tolist() == [int(s[2 * i]) + int(s[2 * i + 1]) for i in range(40)]


def test_inline_assembly():
    out = np.zeros(40, np.int32)
    run_cuda(COOPERATIVE, "assembly", 1, 40, [np.arange(40, dtype=np.int32), out])
    assert out.tolist() == [(100 if i > 10 else 200) + (1 if i > 20 else 2) for i in range(40)]


def test_asynchronous_pipeline():
    rounds = 5
    x = np.array([(i * 13) % 64 for i in range(128 * rounds)], np.float32)
    out = np.zeros(32, np.float32)
    run_cuda(COOPERATIVE, "pipeline", 1, 32, [x, out, np.int32(rounds)])
    weights = [sum((k + 1) * int(x[128 * r + 4 * (31 - t) + k]) for r in range(rounds)
                   for k in range(4)) for t in range(32)]  # fmt: skip
    assert out.tolist() == weights


@pytest.mark.parametrize("which", [0, 1, 2])
def test_generic_pointers(which):
    x, out = np.arange(32, dtype=np.int32) * 3, np.zeros(32, np.int32)
    run_cuda(COOPERATIVE, "generic", 1, 32, [x, out, np.int32(which)])
    at = [(t + which) & 3 for t in range(32)]
    assert out.tolist() == [[3 * k, 21 * k, 3 * t + k][which] for t, k in enumerate(at)]


def test_blocks_that_store_their_number_where_only_the_thread_counts():
    """Address and value each vary along another axis: the last block wins, as any may."""
    source = """extern "C" __global__ void meet(unsigned* out) {
        __shared__ unsigned s[1];
        out[threadIdx.x] = blockIdx.x;
        s[0] = threadIdx.x;
        out[8 + blockIdx.x] = s[0];
    }"""
    out = np.full(11, 99, np.uint32)
    run_cuda(source, "meet", 3, 8, [out])
    assert out.tolist() == [2] * 8 + [7] * 3


TILES = """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void tiles(int* x, int* y) {
    __shared__ cg::block_tile_memory<256> memory;
    __shared__ int mine[256];
    auto tile = cg::tiled_partition<64>(cg::this_thread_block(memory));
    mine[threadIdx.x] = threadIdx.x;
    tile.sync();
    int i = blockIdx.x * blockDim.x + threadIdx.x, sum = mine[threadIdx.x ^ 63];
    x[i] = sum = cg::reduce(tile, sum, cg::plus<int>());
    y[i] = tile.shfl(sum + (int)threadIdx.x, 40);
}
"""


def test_tiles_of_several_warps():
    """Their barriers lie in what a GPU reserves of shared memory, and nobody initialises them."""
    kernel = Kernel(TILES, "tiles")
    assert "%reserved_smem_offset_1" in kernel.ptx
    x, y = np.zeros((2, 512), np.int32)
    kernel(2, 256, [x, y], device="interpreter")
    sums = [sum(range(first, first + 64)) for first in (0, 64, 128, 192)]
    assert x.tolist() == np.repeat(sums * 2, 64).tolist()
    assert y[::64].tolist() == [total + 64 * n + 40 for n, total in enumerate(sums)] * 2
    assert not kernel.sanitize(2, 256, [x, y])
    racing = Kernel(TILES.replace("tile.sync();", ""), "tiles")
    assert [finding.kind for finding in racing.sanitize(2, 256, [x, y])] == ["race"]
