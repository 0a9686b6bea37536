// Thread tile, 8 x 8: a thread has four times the outputs and twice the loads
//
// The fragments grow to eight elements each, the tile to 128 x 128. The 64 sums of a thread have
// to stay in registers, and registers have no addresses: every loop over them has to be unrolled,
// so that each index is a constant. UNROLL is the factor for those over the thread tile. With
// less than 8 the array moves to local memory, which is global memory behind the caches.
// BLOCKS blocks are promised to fit on an SM, which bounds the registers from the other side.
// Look at the registers and the stack in the compiler's report, and at local loads in the trace.
// SPLIT=1 takes the eight rows and columns of a thread as two runs of four, half a tile apart.
//
// block: BM // TM * (BN // TN)
// requires: M % BM == 0
// requires: N % BN == 0
// requires: K % BK == 0
// alignment: 16
// variant: SPLIT=1
// variant: UNROLL=4
// variant: UNROLL=1
// variant: BLOCKS=2
// variant: BLOCKS=3
// variant: BM=64 BN=64 BK=16 TM=4 TN=4

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK
#define BK 8
#endif
#ifndef PAD
#define PAD 4
#endif
#ifndef TM
#define TM 8
#endif
#ifndef TN
#define TN 8
#endif
#ifndef BLOCKS
#define BLOCKS 1
#endif
#ifndef SPLIT
#define SPLIT 0
#endif
#ifndef UNROLL
#define UNROLL 8
#endif

#define THREADS (BM / TM * (BN / TN))
#define COPY_A (4 * THREADS / BK)  // rows of tile_a that the block copies at a time
#define COPY_B (4 * THREADS / BN)  // and of tile_b
#define FLOAT4(x) (*(float4*)&(x))

// region: places
#define ROW(i) (SPLIT ? row * 4 + (i) / 4 * (BM / TM * 4) + (i) % 4 : row * TM + (i))
#define COL(j) (SPLIT ? col * 4 + (j) / 4 * (BN / TN * 4) + (j) % 4 : col * TN + (j))
// endregion

static_assert(BM % TM == 0 && BN % TN == 0, "threads divide the tile evenly");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert(BK % 4 == 0 && TM % 4 == 0 && TN % 4 == 0, "float4 lie on 16 bytes");
static_assert(PAD >= 0 && PAD % 4 == 0, "so do the rows of tile_a");
static_assert(THREADS > 0 && COPY_A * BK == 4 * THREADS && COPY_B * BN == 4 * THREADS &&
              BM % COPY_A == 0 && BK % COPY_B == 0, "every thread copies as many float4");
static_assert(BLOCKS > 0, "an SM holds a block at least");

constexpr int unroll = UNROLL;  // not every compiler expands macros in a pragma

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C)
{
    // region: tiles
    __shared__ __align__(16) float tile_a[BK][BM + PAD];
    __shared__ __align__(16) float tile_b[BK][BN];
    // endregion
    static_assert(sizeof(tile_a) + sizeof(tile_b) <= 48 * 1024, "a block may share 48 KiB");

    // region: mapping
    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * N + blockIdx.x * BN;
    int thread = threadIdx.x;
    int row = thread / (BN / TN);
    int col = thread % (BN / TN);
    int a_row = 4 * thread / BK, a_k = 4 * thread % BK;    // where it copies from A
    int b_k = 4 * thread / BN, b_col = 4 * thread % BN;    // and from B
    // endregion

    float sum[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // region: load_tile
        for (int i = 0; i < BM; i += COPY_A) {
            float4 a = FLOAT4(A[(a_row + i) * K + a_k]);
            tile_a[a_k + 0][a_row + i] = a.x;
            tile_a[a_k + 1][a_row + i] = a.y;
            tile_a[a_k + 2][a_row + i] = a.z;
            tile_a[a_k + 3][a_row + i] = a.w;
        }
        for (int i = 0; i < BK; i += COPY_B)
            FLOAT4(tile_b[b_k + i][b_col]) = FLOAT4(B[(b_k + i) * N + b_col]);
        __syncthreads();
        // endregion

        // region: outer_product
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; i += 4)
                FLOAT4(a[i]) = FLOAT4(tile_a[k][ROW(i)]);
            for (int j = 0; j < TN; j += 4)
                FLOAT4(b[j]) = FLOAT4(tile_b[k][COL(j)]);
            #pragma unroll unroll
            for (int i = 0; i < TM; ++i)
                #pragma unroll unroll
                for (int j = 0; j < TN; ++j)
                    sum[i][j] += a[i] * b[j];
        }
        __syncthreads();
        // endregion

        A += BK;
        B += BK * N;
    }

    // region: store
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; j += 4) {
            float4* c = &FLOAT4(C[ROW(i) * N + COL(j)]);
            float4 old = {};
            if (beta != 0.0f)
                old = *c;
            *c = {alpha * sum[i][j] + beta * old.x, alpha * sum[i][j + 1] + beta * old.y,
                  alpha * sum[i][j + 2] + beta * old.z, alpha * sum[i][j + 3] + beta * old.w};
        }
    // endregion
}
