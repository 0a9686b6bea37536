// The tile space: any shape, any storage, and tiles to choose from
//
// The defines span a space of kernels, which `python -m kernels tune` searches on a GPU. Whatever
// they are, every shape is right: a copy of what does not exist reads nothing and stores zeros, and
// of the results only those are stored that exist. Blocks whose tiles are whole, in rows of float4,
// have a loop of their own. TRANS_A and TRANS_B read operands that are stored transposed. GROUP
// rows of blocks run together and share columns of B in L2. Every other row of sums is walked back,
// so that a turn keeps its operand.
// Look at the loop of whole tiles, and at what each level of ptxas makes of it.
//
// block: BM // TM * (BN // TN)
// shared: STAGES * BK * 4 * (BM + BN + 2 * PAD)
// arguments: lda ldb ldc
// ptxas: -O{LEVEL}
// compute capability: 8.0
// variant: BM=64 BN=128 STAGES=4 TN=8 WN=64 BLOCKS=3
// variant: BM=32 BN=64 STAGES=4 TM=4 TN=4 WM=16 WN=32 BLOCKS=6
// variant: BN=128 STAGES=4 BLOCKS=2

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
#define STAGES 8
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
#define WM 32
#endif
#ifndef WN
#define WN 128
#endif
#ifndef GROUP
#define GROUP 16
#endif
#ifndef LEVEL
#define LEVEL 1
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
static_assert(LEVEL > 0 && LEVEL <= 3, "ptxas has levels 1 to 3");
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

// A thread's part of the copies of a tile of BK x SIDE, of which `edge` columns exist. ALONG_K:
// neighbours in k are neighbours in memory, so copies of 4 bytes transpose, eight lanes eight of
// them, a sector. WHOLE: all columns exist, and rows are made of float4. Threads that are more
// than a tile needs, or than its last round does, copy nothing.
template <int SIDE, bool ALONG_K, bool WHOLE> struct Copies {
    static constexpr int W = WHOLE && !ALONG_K ? 4 : 1;  // elements a copy
    static constexpr int PASS = ALONG_K ? THREADS / 8 : W * THREADS;  // columns at a time
    static_assert(PASS > 0 && (PASS % SIDE == 0 || SIDE % PASS == 0), "lines are copied evenly");

    const float* from;
    int pitch, edge, k, x;

    __device__ Copies(const float* first, int pitch, int edge) : pitch(pitch), edge(edge)
    {
        int n = W * threadIdx.x;
        k = ALONG_K ? n % 8 + n / (8 * SIDE) * 8 : n / SIDE;
        x = ALONG_K ? n / 8 % SIDE : n % SIDE;
        from = first + (ALONG_K ? (size_t)x * pitch + k : (size_t)k * pitch + x);
    }

    __device__ void start(float (*tile)[SIDE + PAD], int depth)  // of which so many rows exist
    {
        #pragma unroll
        for (int i = 0; i < BK * SIDE; i += W * THREADS) {
            int dk = ALONG_K ? i / (8 * SIDE) * 8 : i / SIDE;
            int dx = ALONG_K ? i / 8 % SIDE : i % SIDE;
            if (BK * SIDE % (W * THREADS) == 0 || k + dk < BK)
                copy_async<W>(&tile[k + dk][x + dx],
                              &from[(unsigned)(ALONG_K ? dx * pitch + dk : dk * pitch + dx)],
                              k + dk < depth && (WHOLE || x + dx < edge));
        }
        from += ALONG_K ? BK : (size_t)BK * pitch;
    }
};
// endregion

// region: product
// Adds BM rows of A times BN columns of B to the thread's sums.
template <bool WHOLE>
__device__ void multiply(float (&sum)[TM][TN], const float* A, const float* B, int K, int lda,
                         int ldb, int rows, int cols, int row, int col)
{
    extern __shared__ __align__(16) Stage stages[];
    Copies<BM, !TRANS_A, WHOLE> copies_a(A, lda, rows);
    Copies<BN, TRANS_B, WHOLE> copies_b(B, ldb, cols);
    unsigned to = 0;  // the stage that is filled next
    auto copy = [&](int k0) {  // starts to copy the thread's part of the tiles at k0, if any
        copies_a.start(stages[to].a, K - k0);
        copies_b.start(stages[to].b, K - k0);
        asm volatile("cp.async.commit_group;" ::: "memory");
        to = (to + 1) % STAGES;
    };
    auto wait = [&]() {  // until the oldest of STAGES - 1 groups has landed, for all threads
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
        __syncthreads();
    };
    float a[2][TM], b[2][TN];
    auto fetch = [&](unsigned stage, int k) {  // what the next outer product multiplies
        for (int i = 0; i < TM; i += 4)
            FLOAT4(a[k % 2][i]) = FLOAT4(stages[stage].a[k][ROW(i)]);
        for (int j = 0; j < TN; j += 4)
            FLOAT4(b[k % 2][j]) = FLOAT4(stages[stage].b[k][COL(j)]);
    };

    for (int stage = 0; stage < STAGES - 1; ++stage)
        copy(stage * BK);
    wait();
    fetch(0, 0);
    unsigned now = 0;  // the stage that is read
    for (int k0 = 0; k0 < K; k0 += BK) {
        // region: outer_product
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            if (k == BK - 1) {
                wait();
                now = (now + 1) % STAGES;
            }
            fetch(now, (k + 1) % BK);
            if (k == 0)
                copy(k0 + (STAGES - 1) * BK);
            for (int i = 0; i < TM; ++i)
                for (int n = 0; n < TN; ++n) {
                    int j = i % 2 ? TN - 1 - n : n;  // to and fro: a turn keeps its b
                    sum[i][j] += a[k % 2][i] * b[k % 2][j];
                }
        }
        // endregion
    }
    asm volatile("cp.async.wait_all;" ::: "memory");  // none may land when the block is gone
}
// endregion

// Whether rows, a pitch apart, the first one at p, all start on 16 bytes.
__device__ bool aligned(const float* p, int pitch)
{
    return pitch % 4 == 0 && (size_t)p % 16 == 0;
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
    int first = block / (GROUP * gridDim.x) * GROUP;  // row of the block's group
    int height = min(GROUP, gridDim.y - first);
    block -= first * gridDim.x;
    int first_row = (first + block % height) * BM;
    int first_col = block / height * BN;
    // endregion

    // region: mapping
    bool whole = first_row + BM <= M && first_col + BN <= N && (!TRANS_A || aligned(A, lda)) &&
                 (TRANS_B || aligned(B, ldb));
    bool aligned_c = aligned(C, ldc);
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
    if (whole)
        multiply<true>(sum, A, B, K, lda, ldb, rows, cols, row, col);
    else
        multiply<false>(sum, A, B, K, lda, ldb, rows, cols, row, col);

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
