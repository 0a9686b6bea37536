// Double buffering: two shared buffers, one barrier a tile
//
// While one pair of tiles is read, the next goes into another pair. Whoever passes the barrier
// knows that both are done: the tiles to come are complete and the old ones are read. A second
// barrier is not needed, and a warp may store while another still multiplies. The loop stores
// once more than there are tiles; nobody reads that.
// Look at the barriers for each tile, and at the shared memory. BUFFERS=1 has this loop with one
// buffer, and two barriers.
//
// block: BM // TM * (BN // TN)
// requires: M % BM == 0
// requires: N % BN == 0
// requires: K % BK == 0
// alignment: 16
// variant: BUFFERS=1

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK
#define BK 8
#endif
#ifndef BUFFERS
#define BUFFERS 2
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
static_assert(WM / TM % 2 == 0, "quads have two rows");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert(BK % 4 == 0 && TM % 4 == 0 && TN % 4 == 0, "float4 lie on 16 bytes");
static_assert(PAD >= 0 && PAD % 4 == 0, "so do the rows of tile_a");
static_assert(THREADS > 0 && COPY_A * BK == 4 * THREADS && COPY_B * BN == 4 * THREADS &&
              BM % COPY_A == 0 && BK % COPY_B == 0, "every thread copies as many float4");
static_assert(BLOCKS > 0, "an SM holds a block at least");
static_assert(BUFFERS > 0, "there is a buffer at least");

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C)
{
    // region: tiles
    __shared__ __align__(16) float tile_a[BUFFERS][BK][BM + PAD];
    __shared__ __align__(16) float tile_b[BUFFERS][BK][BN];
    // endregion
    static_assert(sizeof(tile_a) + sizeof(tile_b) <= 48 * 1024, "a block may share 48 KiB");

    // region: mapping
    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * N + blockIdx.x * BN;
    int thread = threadIdx.x;
    int warp = thread / 32;
    int lane = thread % 32;
    int lane_row = lane / (2 * LANES_N) * 2 + lane % 2;
    int lane_col = lane / 2 % LANES_N;
    int row = warp / (BN / WN) * WM + lane_row * 4;
    int col = warp % (BN / WN) * WN + lane_col * 4;
    int a_row = 4 * thread / BK, a_k = 4 * thread % BK;    // where it copies from A
    int b_k = 4 * thread / BN, b_col = 4 * thread % BN;    // and from B
    // endregion

    // region: copy
    float4 next_a[BM / COPY_A], next_b[BK / COPY_B];
    auto load = [&](int k0) {  // the thread's part of the tiles at k0, if there are any
        if (k0 >= K)
            return;
        for (int i = 0; i < BM; i += COPY_A)
            next_a[i / COPY_A] = FLOAT4(A[(a_row + i) * K + a_k]);
        for (int i = 0; i < BK; i += COPY_B)
            next_b[i / COPY_B] = FLOAT4(B[(b_k + i) * N + b_col]);
        A += BK;
        B += BK * N;
    };
    auto store = [&](int k0) {
        int to = k0 / BK % BUFFERS;
        for (int i = 0; i < BM; i += COPY_A) {
            float4 a = next_a[i / COPY_A];
            tile_a[to][a_k + 0][a_row + i] = a.x;
            tile_a[to][a_k + 1][a_row + i] = a.y;
            tile_a[to][a_k + 2][a_row + i] = a.z;
            tile_a[to][a_k + 3][a_row + i] = a.w;
        }
        for (int i = 0; i < BK; i += COPY_B)
            FLOAT4(tile_b[to][b_k + i][b_col]) = next_b[i / COPY_B];
    };
    // endregion

    float sum[TM][TN] = {};
    // region: loop
    load(0);
    store(0);
    __syncthreads();
    for (int k0 = 0; k0 < K; k0 += BK) {
        int now = k0 / BK % BUFFERS;
        load(k0 + BK);

        // region: outer_product
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; i += 4)
                FLOAT4(a[i]) = FLOAT4(tile_a[now][k][ROW(i)]);
            for (int j = 0; j < TN; j += 4)
                FLOAT4(b[j]) = FLOAT4(tile_b[now][k][COL(j)]);
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j)
                    sum[i][j] += a[i] * b[j];
        }
        // endregion
        if (BUFFERS == 1)
            __syncthreads();
        store(k0 + BK);
        __syncthreads();
    }
    // endregion

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
