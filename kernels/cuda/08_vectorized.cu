// Vectorised: tiles are copied in float4
//
// A thread copies four neighbours with one 128-bit load and one 128-bit store. For that it
// leaves its place in the output and takes one by its number in the block, 16 threads to a row.
// Look at the instructions and requests of the copies, a quarter of what they were, and at
// their sectors and wavefronts, which stay the same: the bytes are the same. The loop over k
// does not change at all; the compiler already joins its loads along k to 128 bits.
//
// block: (BN, BM // TM)
// requires: M % BM == 0
// requires: N % BN == 0
// requires: K % BK == 0
// alignment: 16
// variant: BK=32

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

#define ROWS (BM / TM)  // of threads
#define THREADS (ROWS * BN)
#define COPY_A (4 * THREADS / BK)  // rows of tile_a that the block copies at a time
#define COPY_B (4 * THREADS / BN)  // and of tile_b
#define FLOAT4(x) (*(float4*)&(x))

static_assert(BM % TM == 0, "threads divide the tile evenly");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert(BK % 4 == 0 && BN % 4 == 0, "float4 lie on 16 bytes");
static_assert(THREADS > 0 && COPY_A * BK == 4 * THREADS && COPY_B * BN == 4 * THREADS &&
              BM % COPY_A == 0 && BK % COPY_B == 0, "every thread copies as many float4");

extern "C" __global__ void __launch_bounds__(THREADS)
sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C)
{
    // region: tiles
    __shared__ __align__(16) float tile_a[BM][BK];
    __shared__ __align__(16) float tile_b[BK][BN];
    // endregion
    static_assert(sizeof(tile_a) + sizeof(tile_b) <= 48 * 1024, "a block may share 48 KiB");

    // region: mapping
    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * N + blockIdx.x * BN;
    int row = threadIdx.y * TM;
    int col = threadIdx.x;
    int thread = threadIdx.y * BN + threadIdx.x;
    int a_row = 4 * thread / BK, a_k = 4 * thread % BK;    // where it copies from A
    int b_k = 4 * thread / BN, b_col = 4 * thread % BN;    // and from B
    // endregion

    float sum[TM] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // region: load_tile
        for (int i = 0; i < BM; i += COPY_A)
            FLOAT4(tile_a[a_row + i][a_k]) = FLOAT4(A[(a_row + i) * K + a_k]);
        for (int i = 0; i < BK; i += COPY_B)
            FLOAT4(tile_b[b_k + i][b_col]) = FLOAT4(B[(b_k + i) * N + b_col]);
        __syncthreads();
        // endregion

        // region: dot_product
        #pragma unroll 32
        for (int k = 0; k < BK; ++k) {
            float b = tile_b[k][col];
            for (int i = 0; i < TM; ++i)
                sum[i] += tile_a[row + i][k] * b;
        }
        __syncthreads();
        // endregion

        A += BK;
        B += BK * N;
    }

    // region: store
    for (int i = 0; i < TM; ++i) {
        float* c = &C[(row + i) * N + col];
        *c = beta == 0.0f ? alpha * sum[i] : alpha * sum[i] + beta * *c;
    }
    // endregion
}
