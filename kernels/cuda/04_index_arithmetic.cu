// Index arithmetic: what the compiler may assume about an index
//
// The kernel is the one before, with a choice of how its coordinates are kept: in an int, in an
// unsigned (UNSIGNED=1), or nowhere, threadIdx being written wherever it is needed (HOIST=0).
// threadIdx is unsigned, and unsigned arithmetic wraps around at 2^32: every index has to be
// computed in 32 bits and widened before it becomes an address. An int must not overflow, so
// the compiler may step one 64-bit address instead.
// Look at the integer instructions of the loop. Not the variable matters, but its type.
//
// block: (BN, BM)
// variant: UNSIGNED=1
// variant: HOIST=0

#ifndef BM
#define BM 16
#endif
#ifndef BN
#define BN 64
#endif
#ifndef UNSIGNED
#define UNSIGNED 0
#endif
#ifndef HOIST
#define HOIST 1
#endif

static_assert(BM * BN <= 1024, "a block has at most 1024 threads");

extern "C" __global__ void __launch_bounds__(BM * BN)
sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C)
{
    // region: mapping
#if !HOIST
#define row (blockIdx.y * BM + threadIdx.y)
#define col (blockIdx.x * BN + threadIdx.x)
#elif UNSIGNED
    unsigned row = blockIdx.y * BM + threadIdx.y;
    unsigned col = blockIdx.x * BN + threadIdx.x;
#else
    int row = blockIdx.y * BM + threadIdx.y;
    int col = blockIdx.x * BN + threadIdx.x;
#endif
    // endregion
    if (row >= M || col >= N)
        return;

    // region: dot_product
    float sum = 0.0f;
    for (int k = 0; k < K; ++k)
        sum += A[row * K + k] * B[k * N + col];
    // endregion

    // region: store
    float* c = &C[row * N + col];
    *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
    // endregion
}
