// Thread tile, 1D: a thread computes a column of TM elements
//
// An element of tile_b is read from shared memory once and used for TM outputs. Those lie below
// one another, so the lanes of a warp still read 32 neighbours of tile_b and one element of
// tile_a. The tile grows to 64 x 64.
// Look at the wavefronts of shared loads for each multiply-add. STRIDED=1 takes rows that lie
// BM / TM apart, which changes no wavefront: what counts is what the lanes of a warp do at the
// same time, not what a thread does next.
// More than 32 steps of k unrolled take so many registers that an SM holds one block only.
//
// block: (BN, BM // TM)
// requires: M % BM == 0
// requires: N % BN == 0
// requires: K % BK == 0
// variant: STRIDED=1
// variant: BM=8 TM=1
// variant: BM=16 TM=2
// variant: BM=32 TM=4
// variant: BM=128 TM=16

#ifndef BM
#define BM 64
#endif
#ifndef BN
#define BN 64
#endif
#ifndef BK
#define BK 64
#endif
#ifndef TM
#define TM 8
#endif
#ifndef STRIDED
#define STRIDED 0
#endif


static_assert(BM % TM == 0, "threads divide the tile evenly");
static_assert(BM / TM * BN <= 1024, "a block has at most 1024 threads");
static_assert(BK == BN, "a row of threads copies a row of either tile");
static_assert(TM <= BM && BK % (BM / TM) == 0, "every thread copies as many elements");

// region: rows
#define ROWS (BM / TM)  // of threads
#define ROW(i) (STRIDED ? row + (i) * ROWS : row * TM + (i))
// endregion

extern "C" __global__ void __launch_bounds__(ROWS * BN)
sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C)
{
    // region: tiles
    __shared__ float tile_a[BM][BK];
    __shared__ float tile_b[BK][BN];
    // endregion
    static_assert(sizeof(tile_a) + sizeof(tile_b) <= 48 * 1024, "a block may share 48 KiB");

    // region: mapping
    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * N + blockIdx.x * BN;
    int row = threadIdx.y;
    int col = threadIdx.x;
    // endregion

    float sum[TM] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // region: load_tile
        for (int i = 0; i < BM; i += ROWS)
            tile_a[row + i][col] = A[(row + i) * K + col];
        for (int i = 0; i < BK; i += ROWS)
            tile_b[row + i][col] = B[(row + i) * N + col];
        __syncthreads();
        // endregion

        // region: dot_product
        #pragma unroll 32
        for (int k = 0; k < BK; ++k) {
            float b = tile_b[k][col];
            for (int i = 0; i < TM; ++i)
                sum[i] += tile_a[ROW(i)][k] * b;
        }
        __syncthreads();
        // endregion

        A += BK;
        B += BK * N;
    }

    // region: store
    for (int i = 0; i < TM; ++i) {
        float* c = &C[ROW(i) * N + col];
        *c = beta == 0.0f ? alpha * sum[i] : alpha * sum[i] + beta * *c;
    }
    // endregion
}
