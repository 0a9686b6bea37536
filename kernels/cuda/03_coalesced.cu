// Coalesced: neighbouring threads take neighbouring columns
//
// The two thread coordinates have changed places, and the tile has turned with them. The
// lanes of a warp now share one row of A, which is one address for all of them, and read 32
// neighbouring elements of B, which fill four 32-byte sectors. The arithmetic, its order and
// so every bit of the result stay the same.
// Look at the sectors of a load and a store: 4 at the most, 32 before.
//
// block: (BN, BM)

#ifndef BM
#define BM 16
#endif
#ifndef BN
#define BN 64
#endif

static_assert(BM * BN <= 1024, "a block has at most 1024 threads");

extern "C" __global__ void __launch_bounds__(BM * BN)
sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C)
{
    // region: mapping
    int row = blockIdx.y * BM + threadIdx.y;
    int col = blockIdx.x * BN + threadIdx.x;
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
