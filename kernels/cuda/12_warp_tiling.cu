// Warp tiling: a warp has a tile of its own, between block and thread
//
// Shared memory serves a warp, not a thread, so the shape of a warp's outputs decides how many
// different words its fragments hold. A warp takes a tile of WM x WN, 32 x 64 instead of 16 x
// 128, each lane eight rows and columns of it in two runs of four. And the lanes are numbered
// in quads of 2 x 2: then lanes that share a float4 stand where the hardware joins them.
// Two blocks fit on an SM. With BLOCKS=1 the compiler is not told so, and writes another loop.
// Look at the wavefronts of a fragment, 2 at the least, and at QUADS=0, where lanes are
// numbered row by row.
//
// block: BM // TM * (BN // TN)
// requires: M % BM == 0
// requires: N % BN == 0
// requires: K % BK == 0
// alignment: 16
// variant: QUADS=0
// variant: BLOCKS=1
// variant: WM=64 WN=32
// variant: WM=16 WN=128
// variant: WM=128 WN=16

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
#define BLOCKS 2
#endif
#ifndef WM
#define WM 32
#endif
#ifndef WN
#define WN 64
#endif
#ifndef QUADS
#define QUADS 1
#endif

#define THREADS (BM / TM * (BN / TN))
#define COPY_A (4 * THREADS / BK)  // rows of tile_a that the block copies at a time
#define COPY_B (4 * THREADS / BN)  // and of tile_b
#define LANES_N (WN / TN)  // lanes of a warp side by side
#define FLOAT4(x) (*(float4*)&(x))

// region: places
#define ROW(i) (row + (i) / 4 * (WM / TM * 4) + (i) % 4)
#define COL(j) (col + (j) / 4 * (WN / TN * 4) + (j) % 4)
// endregion

static_assert(BM % WM == 0 && BN % WN == 0, "warps divide the tile evenly");
static_assert(WM % TM == 0 && WN % TN == 0, "threads divide the tile evenly");
static_assert(WM / TM * LANES_N == 32, "a warp has 32 lanes");
static_assert(!QUADS || WM / TM % 2 == 0, "quads have two rows");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert(BK % 4 == 0 && TM % 4 == 0 && TN % 4 == 0, "float4 lie on 16 bytes");
static_assert(PAD >= 0 && PAD % 4 == 0, "so do the rows of tile_a");
static_assert(THREADS > 0 && COPY_A * BK == 4 * THREADS && COPY_B * BN == 4 * THREADS &&
              BM % COPY_A == 0 && BK % COPY_B == 0, "every thread copies as many float4");
static_assert(BLOCKS > 0, "an SM holds a block at least");

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
    int warp = thread / 32;
    int lane = thread % 32;
    int lane_row = QUADS ? lane / (2 * LANES_N) * 2 + lane % 2 : lane / LANES_N;
    int lane_col = QUADS ? lane / 2 % LANES_N : lane % LANES_N;
    int row = warp / (BN / WN) * WM + lane_row * 4;
    int col = warp % (BN / WN) * WN + lane_col * 4;
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
            for (int i = 0; i < TM; ++i)
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
