"""A product by wgmma as a kernel has it: CUDA, stages, two warpgroups, swizzled tiles."""

import numpy as np
import pytest
from harness import cuda

from anywarp import build
from anywarp.kernel import Kernel

ACCUMULATORS = ", ".join(f'"+f"(sum[{n}])' for n in range(64))
NAMES = ", ".join(f"%{n}" for n in range(64))
SOURCE = f"""// A product of 128 x 128 x K in BF16
// compute capability: 9.0a
typedef unsigned short bf16;
typedef unsigned long long descriptor;
constexpr int BK = 64;

// rows of 128 bytes, their units of 16 bytes exchanged by the number of the row
__device__ descriptor describe(const bf16* tile)
{{
    unsigned at = __cvta_generic_to_shared(tile);
    return (at & 0x3FFFF) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}}

__device__ void multiply(float (&sum)[64], descriptor a, descriptor b)
{{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{{{NAMES}}}, %64, %65, 1, 1, 1, 0, 0;"
        : {ACCUMULATORS}
        : "l"(a), "l"(b));
}}

__device__ void fill(bf16* tile, const bf16* from, int K)
{{
    for (int n = threadIdx.x; n < 128 * 8; n += 256) {{
        int row = n / 8, unit = n % 8;
        *(uint4*)&tile[row * BK + (unit ^ row % 8) * 8] = *(const uint4*)&from[row * K + unit * 8];
    }}
}}

// C (128, 128) = A (128, K) times the transpose of B (128, K)
extern "C" __global__ void __launch_bounds__(256)
product(int K, const bf16* A, const bf16* B, float* C)
{{
    extern __shared__ __align__(1024) bf16 tiles[];
    bf16 *As = tiles, *Bs = tiles + STAGES * 128 * BK;
    int group = threadIdx.x / 128, warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
    float sum[64] = {{}};
    for (int stage = 0; stage < STAGES - 1; ++stage) {{
        fill(As + stage * 128 * BK, A + stage * BK, K);
        fill(Bs + stage * 128 * BK, B + stage * BK, K);
    }}
    for (int tile = 0; tile < K / BK; ++tile) {{
        int stage = tile % STAGES, next = tile + STAGES - 1;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        descriptor a = describe(As + stage * 128 * BK + group * 64 * BK);
        descriptor b = describe(Bs + stage * 128 * BK);
        #pragma unroll
        for (int k = 0; k < BK / 16; ++k)
            multiply(sum, a + 2 * k, b + 2 * k);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads();
        if (next < K / BK) {{
            fill(As + next % STAGES * 128 * BK, A + next * BK, K);
            fill(Bs + next % STAGES * 128 * BK, B + next * BK, K);
        }}
    }}
    for (int n = 0; n < 64; ++n) {{
        int row = group * 64 + warp * 16 + lane / 4 + 8 * (n / 2 % 2);
        int column = n / 4 * 8 + lane % 4 * 2 + n % 2;
        C[row * 128 + column] = sum[n];
    }}
}}
"""


def bf16(values):
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


@pytest.mark.parametrize("stages", (2, 3))
def test_a_product_in_stages(stages):
    kernel = Kernel(SOURCE, "product", [f"-DSTAGES={stages}"])
    rng = np.random.default_rng(stages)
    K = 64 * (stages + 2)
    A, B = rng.integers(-8, 9, (128, K)), rng.integers(-8, 9, (128, K))
    C = np.empty((128, 128), np.float32)
    size = stages * 2 * 128 * 64 * 2
    kernel(1, 256, (K, bf16(A), bf16(B), C), device="interpreter", shared_mem=size)
    assert (C == A @ B.T).all()


def test_ptxas_takes_it():
    """For the one GPU that has these instructions, and no other."""
    built = build.compile(SOURCE, "product.cu", ("-DSTAGES=2",), ("product",), "sm_90")
    found = build.resources(built, "product")
    assert found.registers >= 64 + 16 and found.spill_stores == 0
    assert cuda(SOURCE, ("product",), ("-DSTAGES=2",)).ptx.count("wgmma.mma_async") == 4
