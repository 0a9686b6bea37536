"""A product as a fast kernel has it: tensor copies fill stages, two warpgroups multiply them with
wgmma, and a tensor copy stores the result."""

import numpy as np
import pytest
from tensors import HELPERS

import kernels
from anywarp import build

ACCUMULATORS = ", ".join(f'"+f"(sum[{n}])' for n in range(64))
NAMES = ", ".join(f"%{n}" for n in range(64))
SOURCE = f"""// C (M, N) = A (M, K) times the transpose of B (N, K), in BF16
// compute capability: 9.0a
{HELPERS}
typedef unsigned short bf16;
typedef unsigned long long descriptor;
constexpr int BM = 128, BN = 128, BK = 64;

__device__ descriptor describe(const bf16* tile)  // rows of 128 bytes, swizzled
{{
    return (shared_address((void*)tile) & 0x3FFFF) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}}

__device__ void multiply(float (&sum)[64], descriptor a, descriptor b)
{{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{{{NAMES}}}, %64, %65, 1, 1, 1, 0, 0;"
        : {ACCUMULATORS}
        : "l"(a), "l"(b));
}}

__device__ void copy_box(const CUtensorMap* map, void* to, unsigned bar, int column, int row)
{{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {{%3, %4}}], [%2];"
                 :: "r"(shared_address(to)), "l"(map), "r"(bar), "r"(column), "r"(row) : "memory");
}}

extern "C" __global__ void __launch_bounds__(256)
product(const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap B,
        const __grid_constant__ CUtensorMap C, int K)
{{
    extern __shared__ __align__(1024) bf16 tiles[];
    bf16 *As = tiles, *Bs = As + STAGES * BM * BK;
    float* Cs = (float*)tiles;  // four boxes of 128 x 32, once A and B are not needed
    __shared__ __align__(8) unsigned long long full[STAGES], empty[STAGES];
    int t = threadIdx.x, group = t / 128, warp = t % 128 / 32, lane = t % 32;
    int row = BM * blockIdx.y, column = BN * blockIdx.x, count = (K + BK - 1) / BK;
    if (t == 0)
        for (int stage = 0; stage < STAGES; ++stage) {{
            init(shared_address(&full[stage]));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 256;"
                         :: "r"(shared_address(&empty[stage])));
        }}
    __syncthreads();
    auto fill = [&](int tile) {{
        int stage = tile % STAGES;
        unsigned bar = shared_address(&full[stage]);
        expect(bar, (BM + BN) * BK * 2);
        copy_box(&A, As + stage * BM * BK, bar, tile * BK, row);
        copy_box(&B, Bs + stage * BN * BK, bar, tile * BK, column);
    }};
    if (t == 0)
        for (int tile = 0; tile < STAGES && tile < count; ++tile)
            fill(tile);
    float sum[64] = {{}};
    for (int tile = 0; tile < count; ++tile) {{
        int stage = tile % STAGES, phase = tile / STAGES % 2;
        wait(shared_address(&full[stage]), phase);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        descriptor a = describe(As + stage * BM * BK + group * 64 * BK);
        descriptor b = describe(Bs + stage * BN * BK);
        #pragma unroll
        for (int k = 0; k < BK / 16; ++k)
            multiply(sum, a + 2 * k, b + 2 * k);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                     :: "r"(shared_address(&empty[stage])) : "memory");
        if (t == 0 && tile + STAGES < count) {{
            wait(shared_address(&empty[stage]), phase);
            fill(tile + STAGES);
        }}
    }}
    __syncthreads();
    for (int n = 0; n < 64; ++n) {{
        int i = group * 64 + warp * 16 + lane / 4 + 8 * (n / 2 % 2);
        int j = n / 4 * 8 + lane % 4 * 2 + n % 2;
        Cs[j / 32 * (BM * 32) + i * 32 + (j % 32 / 4 ^ i % 8) * 4 + j % 4] = sum[n];
    }}
    proxy();
    __syncthreads();
    if (t == 0) {{
        for (int part = 0; part < BN / 32; ++part)
            asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"
                         " [%1, {{%2, %3}}], [%0];"
                         :: "r"(shared_address(Cs + part * BM * 32)), "l"(&C),
                            "r"(column + 32 * part), "r"(row) : "memory");
        asm volatile("cp.async.bulk.commit_group;");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }}
}}
"""


def bf16(values) -> np.ndarray:
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


@pytest.mark.parametrize("shape", ((128, 128, 512), (200, 260, 168)))
def test_a_product(shape):
    """Also of matrices that the tiles do not divide: what is outside reads as zeros."""
    M, N, K = shape
    rng = np.random.default_rng(M)
    A, B = rng.integers(-8, 9, (M, K)), rng.integers(-8, 9, (N, K))
    C = np.full((M, N), np.nan, np.float32)
    maps = [kernels.TensorMap(bf16(x), (128, 64), dtype="bfloat16", swizzle=128) for x in (A, B)]
    maps.append(kernels.TensorMap(C, (128, 32), swizzle=128))
    kernel = kernels.Kernel(SOURCE, "product", ["-DSTAGES=3"])
    grid = -(-N // 128), -(-M // 128)
    kernel(grid, 256, [*maps, K], device="interpreter", shared_mem=3 * 2 * 128 * 64 * 2)
    assert (C == A @ B.T).all()


def test_ptxas_takes_it():
    built = build.compile(SOURCE, "product.cu", ("-DSTAGES=3",), ("product",), "sm_90")
    assert build.resources(built, "product").spill_stores == 0
