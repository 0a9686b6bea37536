// Bank conflicts: three layouts in which a warp's words lie in different banks
//
// The tile of B is no longer transposed: the lanes of a warp read 32 neighbours in a row of it,
// which lie in 32 banks. Where the transposed tile is wanted, two other cures keep it: a row
// one word longer (PAD=1), or a column index XORed with the row's (SWIZZLE=1). Each sends the
// 32 elements of a column to 32 banks. PAD=2 sends them to 16, and is good for 64-bit loads.
// Look at the wavefronts of loads and stores of tile_b, at the bytes of shared memory and at
// the instructions that the swizzle takes.
//
// block: (BN, BM)
// requires: M % BM == 0
// requires: N % BN == 0
// requires: K % BK == 0
// variant: TRANSPOSED=1
// variant: TRANSPOSED=1 PAD=1
// variant: TRANSPOSED=1 PAD=2
// variant: TRANSPOSED=1 SWIZZLE=1

#ifndef BM
#define BM 32
#endif
#ifndef BN
#define BN 32
#endif
#ifndef BK
#define BK 32
#endif
#ifndef TRANSPOSED
#define TRANSPOSED 0
#endif
#ifndef PAD
#define PAD 0
#endif
#ifndef SWIZZLE
#define SWIZZLE 0
#endif

static_assert(BM == BK && BN == BK, "every thread copies one element of either tile");
static_assert(BM * BN <= 1024, "a block has at most 1024 threads");
static_assert(PAD >= 0 && (!SWIZZLE || (BK & (BK - 1)) == 0), "swizzled or not, k fits a row");

// region: layout
#if TRANSPOSED
#define TILE_B(k, col) tile_b[col][SWIZZLE ? (k) ^ (col) : (k)]
#else
#define TILE_B(k, col) tile_b[k][col]
#endif
// endregion

extern "C" __global__ void __launch_bounds__(BM * BN)
sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C)
{
    // region: tiles
    __shared__ float tile_a[BM][BK];
    __shared__ float tile_b[BN][BK + PAD];
    // endregion
    static_assert(sizeof(tile_a) + sizeof(tile_b) <= 48 * 1024, "a block may share 48 KiB");

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
        TILE_B(row, col) = B[row * N + col];
        __syncthreads();
        // endregion

        // region: dot_product
        for (int k = 0; k < BK; ++k)
            sum += tile_a[row][k] * TILE_B(k, col);
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
