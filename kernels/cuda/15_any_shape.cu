// Any shape: guards at the edges
//
// Tiles hang over the edges of the matrices. Each load of four neighbours knows how many of them
// exist and puts zeros in place of the others, which adds nothing to the sums; each store knows
// how many to write. Rows that do not start on 16 bytes, as those of a matrix whose width is no
// multiple of 4, are read one element at a time.
// Look at what the guards add to the loop, and to whole tiles. SHIFTED=1 moves the tiles at the
// edges inwards instead. Elements that two blocks compute are then written twice, which is
// harmless only as long as beta is 0; a call with another beta is refused.
//
// block: BM // TM * (BN // TN)
// requires: not SHIFTED or M >= BM and N >= BN
// requires: not SHIFTED or beta == 0

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK
#define BK 8
#endif
#ifndef SHIFTED
#define SHIFTED 0
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

// region: guards
// Four neighbours from p on, of which the first n exist, and zeros for the others.
__device__ float4 load4(const float* p, int n, bool aligned)
{
    if (n >= 4 && aligned)
        return FLOAT4(*p);
    return {n > 0 ? p[0] : 0, n > 1 ? p[1] : 0, n > 2 ? p[2] : 0, n > 3 ? p[3] : 0};
}

// Whether rows of this many elements, the first one at p, all start on 16 bytes.
__device__ bool aligned(const float* p, int width)
{
    return width % 4 == 0 && (size_t)p % 16 == 0;
}
// endregion

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C)
{
    // region: tiles
    __shared__ __align__(16) float tile_a[2][BK][BM + PAD];
    __shared__ __align__(16) float tile_b[2][BK][BN];
    // endregion
    static_assert(sizeof(tile_a) + sizeof(tile_b) <= 48 * 1024, "a block may share 48 KiB");

    // region: mapping
    bool aligned_a = aligned(A, K), aligned_b = aligned(B, N), aligned_c = aligned(C, N);
    int first_row = SHIFTED ? min((int)blockIdx.y * BM, M - BM) : blockIdx.y * BM;
    int first_col = SHIFTED ? min((int)blockIdx.x * BN, N - BN) : blockIdx.x * BN;
    A += first_row * K;
    B += first_col;
    C += first_row * N + first_col;
    M -= first_row;  // rows and columns from here on
    int cols = N - first_col;
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
    auto load = [&](int k0) {  // the thread's part of the tiles at k0
        int k = k0 + a_k;
        for (int i = 0; i < BM; i += COPY_A)
            next_a[i / COPY_A] = load4(&A[(a_row + i) * K + k], a_row + i < M ? K - k : 0,
                                       aligned_a);
        k = k0 + b_k;
        for (int i = 0; i < BK; i += COPY_B)
            next_b[i / COPY_B] = load4(&B[(k + i) * N + b_col], k + i < K ? cols - b_col : 0,
                                       aligned_b);
    };
    auto store = [&](int k0) {
        int to = k0 / BK % 2;
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
        int now = k0 / BK % 2;
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
        store(k0 + BK);
        __syncthreads();
    }
    // endregion

    // region: store
    #pragma unroll
    for (int i = 0; i < TM; ++i)
        #pragma unroll
        for (int j = 0; j < TN; j += 4) {
            float* c = &C[ROW(i) * N + COL(j)];
            int n = ROW(i) < M ? cols - COL(j) : 0;
            float4 old = {};
            if (beta != 0.0f)
                old = load4(c, n, aligned_c);
            float4 x = {alpha * sum[i][j] + beta * old.x, alpha * sum[i][j + 1] + beta * old.y,
                        alpha * sum[i][j + 2] + beta * old.z, alpha * sum[i][j + 3] + beta * old.w};
            if (n >= 4 && aligned_c) {
                FLOAT4(*c) = x;
            } else {
                if (n > 0) c[0] = x.x;
                if (n > 1) c[1] = x.y;
                if (n > 2) c[2] = x.z;
                if (n > 3) c[3] = x.w;
            }
        }
    // endregion
}
