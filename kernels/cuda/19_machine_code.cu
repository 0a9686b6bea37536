// Machine code: the main loop in another order
//
// The source is step 17's. What changes is the machine code of the main loop, after the compiler:
// the products come row by row like a snake, so that each shares an operand with the one before,
// which then comes from a reuse cache; the loads for the next k and everything else stand between
// them, spread out; the barrier comes well before the tile changes. The new code is proved to do
// what the compiler's does. Compare the two loops, and look at the FFMAs with three fresh operands.
//
// block: BM // TM * (BN // TN)
// shared: STAGES * BK * 4 * (BM + BN + 2 * PAD)
// arguments: lda ldb ldc
// ptxas: -O1
// machine code: reordered
// compute capability: 8.0

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 256
#endif
#ifndef BK
#define BK 8
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef PAD
#define PAD 4
#endif
#ifndef TM
#define TM 8
#endif
#ifndef TN
#define TN 16
#endif
#ifndef BLOCKS
#define BLOCKS 1
#endif
#ifndef WM
#define WM 64
#endif
#ifndef WN
#define WN 64
#endif
#ifndef GROUP
#define GROUP 16
#endif
#ifndef TRANS_A
#define TRANS_A 0
#endif
#ifndef TRANS_B
#define TRANS_B 0
#endif

#define THREADS (BM / TM * (BN / TN))
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
static_assert(BK % 8 == 0 && TM % 4 == 0 && TN % 4 == 0, "float4 lie on 16 bytes");
static_assert(PAD >= 0 && PAD % 4 == 0, "so do the rows of the tiles");
static_assert(BLOCKS > 0, "an SM holds a block at least");
static_assert(STAGES > 1, "one stage is filled while another is read");
static_assert(GROUP > 0, "a group has a row of blocks at least");
static_assert((TRANS_A | TRANS_B | 1) == 1, "an operand is transposed, 1, or not, 0");

struct Stage {
    float a[BK][BM + PAD], b[BK][BN + PAD];
};
static_assert(STAGES * sizeof(Stage) <= 227 * 1024, "a block may share 227 KiB");

// region: copy
// Starts a copy of W floats to shared memory, or of as many zeros.
template <int W> __device__ void copy_async(float* to, const float* from, bool exists)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::
                 "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "n"(4 * W),
                 "r"(exists ? 4 * W : 0) : "memory");
}

// Starts the thread's copies, W floats each, of a tile of BK x SIDE whose first element is *from.
// ALONG_K: neighbours in k are neighbours in memory, and the copies transpose. Of the tile,
// depth x edge elements exist: deeper are zeros, beyond the edge is the last of them again,
// from which nothing is stored.
template <int SIDE, bool ALONG_K, int W>
__device__ void copy_tile(float (*tile)[SIDE + PAD], const float* from, int pitch, int depth,
                          int edge)
{
    constexpr int PASS = ALONG_K ? THREADS / 8 : W * THREADS;  // elements of a line copied at a time
    static_assert(PASS > 0 && (PASS % SIDE == 0 || SIDE % PASS == 0), "lines are copied whole");
    int first = W * threadIdx.x;
    int k0 = ALONG_K ? first % 8 + first / (8 * SIDE) * 8 : first / SIDE;
    int x0 = ALONG_K ? first / 8 % SIDE : first % SIDE;
    #pragma unroll
    for (int i = 0; i < BK * SIDE; i += W * THREADS) {
        int k = k0 + (ALONG_K ? i / (8 * SIDE) * 8 : i / SIDE);
        int x = x0 + (ALONG_K ? i / 8 % SIDE : i % SIDE);
        int there = min(x, edge - W);
        if (BK * SIDE % (W * THREADS) == 0 || k < BK)
            copy_async<W>(&tile[k][x], &from[ALONG_K ? there * pitch + k : k * pitch + there],
                          k < depth);
    }
}
// endregion

// region: product
// Adds the product of BM rows of A and BN columns of B to the thread's sums.
template <int W>
__device__ void multiply(float (&sum)[TM][TN], const float* A, const float* B, int K, int lda,
                         int ldb, int rows, int cols, int row, int col)
{
    extern __shared__ __align__(16) Stage stages[];
    auto copy = [&](int stage, int k0) {
        copy_tile<BM, !TRANS_A, TRANS_A ? W : 1>(stages[stage].a, A, lda, K - k0, rows);
        copy_tile<BN, TRANS_B, TRANS_B ? 1 : W>(stages[stage].b, B, ldb, K - k0, cols);
        A += TRANS_A ? (size_t)BK * lda : BK;
        B += TRANS_B ? BK : (size_t)BK * ldb;
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    auto wait = [&]() {
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
        __syncthreads();
    };
    float a[2][TM], b[2][TN];
    auto fetch = [&](int stage, int k) {
        for (int i = 0; i < TM; i += 4)
            FLOAT4(a[k % 2][i]) = FLOAT4(stages[stage].a[k][ROW(i)]);
        for (int j = 0; j < TN; j += 4)
            FLOAT4(b[k % 2][j]) = FLOAT4(stages[stage].b[k][COL(j)]);
    };

    for (int stage = 0; stage < STAGES - 1; ++stage)
        copy(stage, stage * BK);
    wait();
    fetch(0, 0);
    int read = 0, write = STAGES - 1;
    for (int k0 = 0; k0 < K; k0 += BK) {
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            if (k == BK - 1) {
                wait();
                read = read == STAGES - 1 ? 0 : read + 1;
            }
            fetch(read, (k + 1) % BK);
            if (k == 0) {
                copy(write, k0 + (STAGES - 1) * BK);
                write = write == STAGES - 1 ? 0 : write + 1;
            }
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j)
                    sum[i][j] += a[k % 2][i] * b[k % 2][j];
        }
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
}
// endregion

// Whether rows of this many elements, a pitch apart, the first one at p, consist of float4.
__device__ bool aligned(const float* p, int width, int pitch)
{
    return width % 4 == 0 && pitch % 4 == 0 && (size_t)p % 16 == 0;
}

// Four neighbours from p on, of which the first n exist, and zeros for the others.
__device__ float4 load4(const float* p, int n, bool aligned)
{
    if (n >= 4 && aligned)
        return FLOAT4(*p);
    return {n > 0 ? p[0] : 0, n > 1 ? p[1] : 0, n > 2 ? p[2] : 0, n > 3 ? p[3] : 0};
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
      int lda, int ldb, int ldc)
{
    // region: order
    int block = blockIdx.y * gridDim.x + blockIdx.x;
    int first = block / (GROUP * gridDim.x) * GROUP;  // of GROUP rows of blocks
    int height = min(GROUP, gridDim.y - first);
    block -= first * gridDim.x;
    int first_row = (first + block % height) * BM;
    int first_col = block / height * BN;
    // endregion

    // region: mapping
    bool wide = (!TRANS_A || aligned(A, M, lda)) && (TRANS_B || aligned(B, N, ldb));
    bool aligned_c = aligned(C, ldc, ldc);
    A += TRANS_A ? first_row : (size_t)first_row * lda;
    B += TRANS_B ? (size_t)first_col * ldb : first_col;
    C += (size_t)first_row * ldc + first_col;
    int rows = M - first_row, cols = N - first_col;  // from here on
    int warp = threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    int lane_row = lane / (2 * LANES_N) * 2 + lane % 2;
    int lane_col = lane / 2 % LANES_N;
    int row = warp / (BN / WN) * WM + lane_row * 4;
    int col = warp % (BN / WN) * WN + lane_col * 4;
    // endregion

    float sum[TM][TN] = {};
    if (wide)
        multiply<4>(sum, A, B, K, lda, ldb, rows, cols, row, col);
    else
        multiply<1>(sum, A, B, K, lda, ldb, rows, cols, row, col);

    // region: store
    #pragma unroll
    for (int i = 0; i < TM; ++i)
        #pragma unroll
        for (int j = 0; j < TN; j += 4) {
            float* c = &C[(size_t)ROW(i) * ldc + COL(j)];
            int n = ROW(i) < rows ? cols - COL(j) : 0;
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
