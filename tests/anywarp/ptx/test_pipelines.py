"""Pipelines of bulk copies, with and without a producer's warp, and CUDA's own wrappers of them."""

from __future__ import annotations

import numpy as np
import pytest
from harness import run_cuda

from anywarp import ptx

PIPELINE = r"""
typedef unsigned long long u64;
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(u64* b, int n) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at(b)), "r"(n) : "memory");
}
__device__ void arrive_at(u64* b) {
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" :: "r"(at(b)) : "memory");
}
__device__ void arrive_expect(u64* b, int n) {
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;"
                 :: "r"(at(b)), "r"(n) : "memory");
}
__device__ void wait(u64* b, int parity) {
    asm volatile("{ .reg .pred p; AGAIN%=: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 "
                 "p, [%0], %1; @!p bra AGAIN%=; }" :: "r"(at(b)), "r"(parity) : "memory");
}
__device__ void fetch(void* to, const void* from, int n, u64* b) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];"
                 :: "r"(at(to)), "l"(from), "r"(n), "r"(at(b)) : "memory");
}
#ifndef STAGES
#define STAGES 3
#endif
#ifndef PARITY
#define PARITY(n) ((n) / STAGES & 1)
#endif
#ifndef ARRIVE
#define ARRIVE arrive_at
#endif
#ifndef WAIT
#define WAIT wait
#endif
#define SIZE 128
extern "C" __global__ void same(const float* in, float* out, int tiles) {
    __shared__ __align__(128) float tile[STAGES][SIZE];
    __shared__ u64 full[STAGES];
    in += (long)blockIdx.x * tiles * SIZE;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) init(&full[s], 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        for (int n = 0; n < STAGES && n < tiles; n++) {
            arrive_expect(&full[n], sizeof(tile[0]));
            fetch(tile[n], in + n * SIZE, sizeof(tile[0]), &full[n]);
        }
    }
    __syncthreads();
    float sum = 0;
    for (int n = 0; n < tiles; n++) {
        int s = n % STAGES;
        WAIT(&full[s], PARITY(n));
        sum = 0.5f * sum + tile[s][SIZE - 1 - threadIdx.x];
        __syncthreads();  // all have read the stage
        if (threadIdx.x == 0 && n + STAGES < tiles) {
            arrive_expect(&full[s], sizeof(tile[0]));
            fetch(tile[s], in + (n + STAGES) * SIZE, sizeof(tile[0]), &full[s]);
        }
    }
    out[blockIdx.x * SIZE + threadIdx.x] = sum;
}
extern "C" __global__ void special(const float* in, float* out, int tiles) {
    __shared__ __align__(128) float tile[STAGES][SIZE];
    __shared__ u64 full[STAGES], empty[STAGES];
    in += (long)blockIdx.x * tiles * SIZE;
    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++) { init(&full[s], 1); init(&empty[s], SIZE); }
    __syncthreads();
    if (threadIdx.x >= SIZE) {  // the producer's warp
        if (threadIdx.x == SIZE)
            for (int n = 0; n < tiles; n++) {
                int s = n % STAGES;
                wait(&empty[s], PARITY(n) ^ 1);
                arrive_expect(&full[s], sizeof(tile[0]));
                fetch(tile[s], in + n * SIZE, sizeof(tile[0]), &full[s]);
            }
        return;
    }
    float sum = 0;
    for (int n = 0; n < tiles; n++) {
        int s = n % STAGES;
        WAIT(&full[s], PARITY(n));
        sum = 0.5f * sum + tile[s][SIZE - 1 - threadIdx.x];
        ARRIVE(&empty[s]);
    }
    out[blockIdx.x * SIZE + threadIdx.x] = sum;
}
"""


def pipeline(kernel: str, tiles: int, blocks: int = 3, options=()):
    """What it found, and what it should."""
    given = np.random.default_rng(tiles).standard_normal((blocks, tiles, 128)).astype(np.float32)
    out = np.zeros((blocks, 128), np.float32)
    threads = 128 + 32 * (kernel == "special")
    run_cuda(PIPELINE, kernel, blocks, threads, [given, out, np.int32(tiles)], options)
    want = np.zeros((blocks, 128), np.float32)
    for n in range(tiles):
        want = np.float32(0.5) * want + given[:, n, ::-1]
    return out, want


@pytest.mark.parametrize("kernel", ["same", "special"])
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("tiles", [1, 3, 4, 11])
def test_a_pipeline(kernel, stages, tiles):
    out, want = pipeline(kernel, tiles, options=(f"-DSTAGES={stages}",))
    assert (out == want).all()


@pytest.mark.parametrize("kernel", ["same", "special"])
def test_a_pipeline_in_many_blocks(kernel):
    out, want = pipeline(kernel, 5, blocks=600)
    assert (out == want).all()


def test_a_forgotten_wait_computes_with_what_was_there():
    """Shared memory that nobody has written is NaN; nobody looks at the barriers, so that no
    copy ever lands."""
    out, _ = pipeline("same", 3, options=("-DWAIT=(void)",))
    assert np.isnan(out).all()


def test_a_forgotten_wait_computes_with_the_tile_before():
    out, want = pipeline("same", 6, options=("-DSTAGES=2", "-DWAIT(b,p)=if(n!=4)wait(b,p)"))
    given = np.random.default_rng(6).standard_normal((3, 6, 128)).astype(np.float32)[..., ::-1]
    got = np.zeros((3, 128), np.float32)
    for tile in (0, 1, 2, 3, 2, 5):
        got = np.float32(0.5) * got + given[:, tile]
    assert (out == got).all() and (out != want).any()


def test_a_wrong_parity_waits_for_nothing():
    """Parity 1 of a new object is that of the phase before the first, which counts as over."""
    out, _ = pipeline("same", 3, options=("-DPARITY(n)=1",))
    assert np.isnan(out).all()


def test_a_parity_that_never_turns():
    """From the second round on it is that of the phase before: nobody waits for the bytes, and a
    stage is filled again while its bytes are missing."""
    for kernel in ("same", "special"):
        with pytest.raises(
            ptx.PTXError, match="0 are pending in its phase, and 512 bytes are miss"
        ):
            pipeline(kernel, 11, options=("-DPARITY(n)=0",))


def test_a_stage_that_nobody_gives_back():
    with pytest.raises(ptx.Deadlock) as caught:
        pipeline("special", 11, options=("-DARRIVE(b)=if(s)arrive_at(b)",))
    message = str(caught.value)
    assert "the phase of parity 0 of the mbarrier at" in message
    assert "byte 0 of _ZZ7specialE5empty (24 bytes): 128 of 128 arrivals are pending" in message
    assert "thread (128, 0, 0)" in message


LIBRARY = r"""
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/ptx>
#include <cooperative_groups.h>
namespace ptx = cuda::ptx;
extern "C" __global__ void piped(const int* in, int* out) {
    auto block = cooperative_groups::this_thread_block();
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ int box[2][64];
    auto pipe = cuda::make_pipeline(block, &state);
    for (int n = 0; n <= 5; n++) {
        if (n < 5) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, box[n % 2], in + n * 64, sizeof(box[0]), pipe);
            pipe.producer_commit();
        }
        if (n == 0) continue;
        pipe.consumer_wait();
        out[(n - 1) * 64 + threadIdx.x] = box[(n - 1) % 2][63 - threadIdx.x];
        pipe.consumer_release();
    }
}
extern "C" __global__ void waited(const int* in, int* out) {
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ barrier ready;
    __shared__ alignas(16) int box[64];
    if (threadIdx.x == 0) init(&ready, blockDim.x);
    __syncthreads();
    for (int n = 0; n < 5; n++) {
        if (threadIdx.x == 0)
            cuda::memcpy_async(box, in + n * 64, cuda::aligned_size_t<16>(sizeof(box)), ready);
        barrier::arrival_token token = ready.arrive();
        ready.wait(cuda::std::move(token));
        out[n * 64 + threadIdx.x] = box[63 - threadIdx.x];
        ready.arrive_and_wait();
    }
}
extern "C" __global__ void raw(const int* in, int* out) {
    __shared__ alignas(16) int box[320];
    __shared__ uint64_t ready;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&ready, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, box, in, sizeof(box), &ready);
        ptx::mbarrier_arrive_expect_tx(
            ptx::sem_release, ptx::scope_cta, ptx::space_shared, &ready, sizeof(box));
    }
    __syncthreads();
    while (!ptx::mbarrier_try_wait_parity(&ready, 0));
    int mine[5];
    for (int n = 0; n < 5; n++) mine[n] = box[n * 64 + 63 - threadIdx.x] - 7;
    __syncthreads();
    for (int n = 0; n < 5; n++) box[n * 64 + threadIdx.x] = mine[n];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x) return;
    ptx::cp_reduce_async_bulk(
        ptx::space_global, ptx::space_shared, ptx::op_add, out, box, sizeof(box));
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>{});
}
"""


@pytest.mark.parametrize("name", ["piped", "waited", "raw"])
def test_the_wrappers_of_the_cuda_library(name):
    given, out = np.arange(320, dtype=np.int32) ** 2, np.full(320, 7, np.int32)
    run_cuda(LIBRARY, name, 1, 64, [given, out])
    assert (out.reshape(5, 64) == given.reshape(5, 64)[:, ::-1]).all()
