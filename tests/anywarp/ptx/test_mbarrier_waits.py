"""Waits for mbarriers as kernels have them: chains, deadlocks, CUDA's primitives."""

from __future__ import annotations

import numpy as np
import pytest
from harness import line_of, number_occurs, run_cuda

from anywarp import ptx

WAITING = r"""
typedef unsigned long long u64;
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(u64* b, int n) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at(b)), "r"(n) : "memory");
}
__device__ void arrive(u64* b) {
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" :: "r"(at(b)) : "memory");
}
__device__ void expect(u64* b, int n) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                 :: "r"(at(b)), "r"(n) : "memory");
}
__device__ bool over(u64* b, int parity) {
    unsigned done;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"  // look
                 " selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at(b)), "r"(parity) : "memory");
    return done;
}
"""
CHAIN = (
    WAITING
    + r"""
extern "C" __global__ void chain(int rounds, int* out) {
    __shared__ u64 ready[8], done;
    __shared__ int value;
    int warp = threadIdx.x / 32;
    if (threadIdx.x == 0) {
        for (int n = 0; n < 8; n++) init(&ready[n], 32);
        init(&done, blockDim.x);
        value = 0;
    }
    __syncthreads();
    for (int round = 0; round < rounds; round++) {  // the last warp first
        if (warp < 7) while (!over(&ready[warp + 1], round & 1));
        if (threadIdx.x % 32 == 0) value = 3 * value + warp + round;
        arrive(&ready[warp]);
        arrive(&done);
        while (!over(&done, round & 1));
    }
    if (threadIdx.x == 0) out[blockIdx.x] = value;
}
"""
)


def test_warps_wait_for_each_other_in_a_chain():
    """Those who wait come first in the code and in the order of threads."""
    out = np.zeros(5, np.int32)
    run_cuda(CHAIN, "chain", 5, 256, [np.int32(6), out])
    value = 0
    for n in range(6):
        for warp in range(7, -1, -1):
            value = 3 * value + warp + n
    assert (out == np.uint32(value % 2**32).astype(np.int32)).all()


STUCK = (
    WAITING
    + r"""
extern "C" __global__ void stuck(int* out) {
    __shared__ u64 spare[3], full[4];
    if (threadIdx.x == 0) for (int n = 0; n < 4; n++) init(&full[n], 9);
    if (threadIdx.x == 0) spare[0] = 0;
    __syncthreads();
    if (threadIdx.x < 7) arrive(&full[2]);
    if (threadIdx.x == 8) expect(&full[2], 96);
    if (threadIdx.x >= 32) while (!over(&full[2], 0));  // wait
    out[threadIdx.x] = (int)spare[0];
}
"""
)


def test_a_wait_that_nobody_can_end():
    with pytest.raises(ptx.Deadlock) as caught:
        run_cuda(STUCK, "stuck", 2, 64, [np.zeros(64, np.int32)])
    message = str(caught.value)
    assert "32 threads wait for the end of the phase of parity 0 of the mbarrier at" in message
    assert "byte 16 of " in message and "full" in message and "(32 bytes)" in message
    assert "2 of 9 arrivals are pending and 96 bytes are missing, and nobody is left" in message
    assert "block (0, 0, 0), thread (32, 0, 0)" in message
    assert number_occurs(line_of(STUCK, "// look"), message)


def test_a_wait_that_has_ended_is_not_blamed():
    early = "if (threadIdx.x >= 32) while (!over(&full[0], 0)); else if (threadIdx.x < 9) "
    source = STUCK.replace("if (threadIdx.x < 7)", early + "arrive(&full[0]); if (threadIdx.x < 7)")
    with pytest.raises(ptx.Deadlock, match=r"byte 16 of \w+full\w* \(32 bytes\): 2 of 9 arrivals"):
        run_cuda(source, "stuck", 2, 64, [np.zeros(64, np.int32)])


def test_a_wait_for_the_parity_of_the_phase_to_come_ends_at_once():
    """What a wrong parity does: the wait for the phase before the first is over from the start."""
    source = STUCK.replace("over(&full[2], 0)", "over(&full[2], 1)")
    out = np.ones(64, np.int32)
    run_cuda(source, "stuck", 1, 64, [out])
    assert not out.any()


PRIMITIVES = r"""
#include <cuda_pipeline.h>
extern "C" __global__ void k(const int* in, int* out) {
    __shared__ __mbarrier_t barrier[2];
    __shared__ int box[2][64];
    int t = threadIdx.x;
    if (t == 0) {
        __mbarrier_init(&barrier[0], 64);
        __mbarrier_init(&barrier[1], 64);
    }
    __syncthreads();
    int sum = 0;
    for (int n = 0; n < 3; n++) {
        __pipeline_memcpy_async(&box[n % 2][t], in + n * 64 + t, 4);
        if (n % 2) {
            __pipeline_commit();
            __pipeline_wait_prior(0);
        } else __pipeline_arrive_on(&barrier[0]);
        __mbarrier_token_t token = __mbarrier_arrive(&barrier[n % 2]);
        if (__mbarrier_token_pending_count(token) < 1) sum = -1000;
        if (n == 2) while (!__mbarrier_test_wait_parity(&barrier[0], 1));
        else if (n) while (!__mbarrier_try_wait(&barrier[1], token, 100));
        else while (!__mbarrier_test_wait(&barrier[0], token));
        sum = 3 * sum + box[n % 2][63 - t];
    }
    if (t < 32) {
        __mbarrier_arrive_and_drop(&barrier[1]);
        out[t] = sum;
        return;
    }
    __mbarrier_arrive(&barrier[1]);
    while (!__mbarrier_try_wait_parity(&barrier[1], 1, 50));
    __mbarrier_token_t token = __mbarrier_arrive(&barrier[1]);
    while (!__mbarrier_test_wait(&barrier[1], token));
    out[t] = sum;
    if (t == 63) __mbarrier_inval(&barrier[0]);
}
"""


def test_the_primitives_of_cuda():
    given, out = np.arange(3 * 64, dtype=np.int32) ** 2, np.zeros(64, np.int32)
    run_cuda(PRIMITIVES, "k", 1, 64, [given, out])
    a, b, c = given.reshape(3, 64)[:, ::-1]
    assert (out == 9 * a + 3 * b + c).all()
