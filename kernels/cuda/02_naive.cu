// Naive: a thread per element of C
//
// Every thread walks along one row of A and down one column of B. Neighbouring threads
// (threadIdx.x) take neighbouring rows, so at each k the 32 lanes of a warp read 32 elements
// of A that lie K floats apart, and all of them the same element of B.
// Look at the sectors that a load of A touches: one for every lane.
//
// block: (BM, BN)

#ifndef BM
#define BM 64
#endif
#ifndef BN
#define BN 16
#endif

static_assert(BM * BN <= 1024, "a block has at most 1024 threads");

extern "C" __global__ void __launch_bounds__(BM * BN)
sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C)
{
    // region: mapping
    int row = blockIdx.y * BM + threadIdx.x;
    int col = blockIdx.x * BN + threadIdx.y;
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
