// Shared memory: a block copies tiles of A and B once and reads them many times
//
// K is cut into pieces of BK. For each, the threads of a block copy one element of A and one of
// B each into shared memory, wait for one another, and multiply from there: what was read from
// global memory BK times is read once. Both tiles are kept so that a thread walks along a row
// of each, which looks natural and puts the 32 elements of B that a warp needs into one bank.
// Look at the wavefronts of tile_b: 32 for a store, where 1 would do, and 32 for a load, which the
// compiler makes 128 bits wide and 4 would serve.
//
// block: (BN, BM)
// requires: M % BM == 0
// requires: N % BN == 0
// requires: K % BK == 0

#ifndef BM
#define BM 32
#endif
#ifndef BN
#define BN 32
#endif
#ifndef BK
#define BK 32
#endif

static_assert(BM == BK && BN == BK, "every thread copies one element of either tile");
static_assert(BM * BN <= 1024, "a block has at most 1024 threads");

extern "C" __global__ void __launch_bounds__(BM * BN)
sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C)
{
    // region: tiles
    __shared__ float tile_a[BM][BK];
    __shared__ float tile_b[BN][BK];
    // endregion

    // region: mapping
    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * N + blockIdx.x * BN;
    int row = threadIdx.y;
    int col = threadIdx.x;
    // endregion

    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += BK) {
        // region: load_tile
        tile_a[row][col] = A[row * K + col];
        tile_b[col][row] = B[row * N + col];
        __syncthreads();
        // endregion

        // region: dot_product
        for (int k = 0; k < BK; ++k)
            sum += tile_a[row][k] * tile_b[col][k];
        __syncthreads();
        // endregion

        A += BK;
        B += BK * N;
    }

    // region: store
    float* c = &C[row * N + col];
    *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
    // endregion
}
