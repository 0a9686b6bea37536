// Split-K and stream-K: blocks share a long K where tiles are few
//
// A product of few tiles leaves SMs without work, and so does the last wave of any other. What is
// shared out here are not tiles but steps, BK columns of A times BK rows of B: the steps of all
// tiles form one line, of which each block gets a stretch. With SPLITS a tile's steps are divided
// evenly; with STREAM there are so many blocks, the SMs or a multiple of them, and each stretch is
// as long as any other, wherever tiles end. Parts of a tile are summed in the order of k, so
// that the result is the same every time: by a second launch, from a workspace of BM x BN floats
// for each part (2 for each block of a stream), or, with CLUSTER, by the blocks themselves, which
// read each other's shared memory. A sum that is not finite is computed again, in one chain of k,
// since a part may overflow where the whole does not. Within a block, SLICES groups of threads share
// the k of a step. Look at how many SMs work, and for how many steps.
//
// launch: sgemm(grid=STREAM or (M + BM - 1) // BM * ((N + BN - 1) // BN) * SPLITS, block=BM // TM * (BN // TN) * SLICES, shared=4 * max(STAGES * BK * (BM + BN + 2 * PAD), SLICES * BM * BN))
// launch: reduce(grid=((M + BM - 1) // BM * ((N + BN - 1) // BN), (BM * BN + 255) // 256), block=256, when=STREAM > 0 or SPLITS > 1 and not CLUSTER)
// workspace: 4 * BM * BN * (2 * STREAM or (SPLITS > 1 and not CLUSTER) * SPLITS * ((M + BM - 1) // BM) * ((N + BN - 1) // BN))
// arguments: lda ldb ldc workspace
// ptxas: -O1
// compute capability: 8.0, 9.0 with CLUSTER
// variant: SPLITS=4
// variant: SPLITS=4 CLUSTER=1
// variant: STREAM=132

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
#ifndef SPLITS
#define SPLITS 1
#endif
#ifndef CLUSTER
#define CLUSTER 0
#endif
#ifndef SLICES
#define SLICES 1
#endif
#ifndef STREAM
#define STREAM 0
#endif
#ifndef TRANS_A
#define TRANS_A 0
#endif
#ifndef TRANS_B
#define TRANS_B 0
#endif

#define THREADS (BM / TM * (BN / TN) * SLICES)
#define DEPTH (BK / SLICES)  // the k of a step that are a slice's
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
static_assert(SPLITS > 0 && SLICES > 0 && STREAM >= 0, "there is a part at least");
static_assert(BK % (2 * SLICES) == 0, "a slice has pairs of k");
static_assert(SPLITS == 1 || STREAM == 0, "steps are shared out in one way");
static_assert(CLUSTER == 0 || CLUSTER == 1 && SPLITS > 1 && SPLITS <= 8,
              "a cluster has 2 to 8 blocks, the splits of a tile");
static_assert((TRANS_A | TRANS_B | 1) == 1, "an operand is transposed, 1, or not, 0");

struct Stage {
    float a[BK][BM + PAD], b[BK][BN + PAD];
};
static_assert(STAGES * sizeof(Stage) <= 227 * 1024 && 4 * SLICES * BM * BN <= 227 * 1024,
              "a block may share 227 KiB");
extern __shared__ __align__(16) float shared[];  // stages, and then the sums of slices or splits

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
                         int ldb, int rows, int cols, int row, int col, int slice)
{
    Stage* stages = (Stage*)shared;
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
            FLOAT4(a[k % 2][i]) = FLOAT4(stages[stage].a[slice * DEPTH + k][ROW(i)]);
        for (int j = 0; j < TN; j += 4)
            FLOAT4(b[k % 2][j]) = FLOAT4(stages[stage].b[slice * DEPTH + k][COL(j)]);
    };

    for (int stage = 0; stage < STAGES - 1; ++stage)
        copy(stage * BK);
    wait();
    fetch(0, 0);
    unsigned now = 0;  // the stage that is read
    for (int k0 = 0; k0 < K; k0 += BK) {
        // region: outer_product
        #pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            if (k == DEPTH - 1) {
                wait();
                now = (now + 1) % STAGES;
            }
            fetch(now, (k + 1) % DEPTH);
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

__device__ void update(float& c, float x, float alpha, float beta)
{
    c = alpha * x + (beta != 0.0f ? beta * c : 0.0f);
}

// A sum of parts for an element of C. Where it is not finite, the element is computed again in one
// chain: a part may be too large for a float32, and the sum of all not.
__device__ float finite(float x, const float* A, const float* B, int K, int lda, int ldb, int row,
                        int col)
{
    if (x - x == 0.0f)
        return x;
    x = 0.0f;
    #pragma unroll 1
    for (int k = 0; k < K; ++k)
        x += A[TRANS_A ? (size_t)k * lda + row : (size_t)row * lda + k] *
             B[TRANS_B ? (size_t)col * ldb + k : (size_t)k * ldb + col];
    return x;
}

// region: line
__device__ int steps_of(int K) { return max((K + BK - 1) / BK, 1); }

// Where on the line of all steps, tile after tile, the stretch of a block begins.
__device__ long long begin(int block, int M, int N, int K)
{
    long long tiles = (M + BM - 1) / BM * ((N + BN - 1) / BN);
    return tiles * steps_of(K) * block / max(STREAM, 1);
}

// What a block does of a tile: the steps from first to end. The tile's first row and column are
// in an order where GROUP rows of tiles come first. The part is a place in the workspace: a block
// of a stream has two, for the tile in which it begins and for the one in which it ends.
struct Piece {
    int first, end, row, col, part;
};

__device__ Piece piece(int tile, int M, int N, int K)
{
    int block = blockIdx.x, steps = steps_of(K);
    if (STREAM)  // read anew, or what follows from it would be kept in registers during the loop
        asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
    Piece found = {block % SPLITS * steps / SPLITS, (block % SPLITS + 1) * steps / SPLITS};
    found.part = block;
    if (STREAM) {
        long long zero = (long long)tile * steps, from = begin(block, M, N, K);
        found.first = max(from - zero, 0LL);
        found.end = min(begin(block + 1, M, N, K) - zero, (long long)steps);
        found.part = 2 * block + (from < zero);
    }
    int high = (M + BM - 1) / BM, across = (N + BN - 1) / BN;
    int top = tile / (GROUP * across) * GROUP;
    int height = min(GROUP, high - top);
    tile -= top * across;
    found.row = (top + tile % height) * BM;
    found.col = tile / height * BN;
    return found;
}
// endregion

// region: cluster
#if CLUSTER
#define IN_CLUSTERS __cluster_dims__(SPLITS, 1, 1)
#else
#define IN_CLUSTERS
#endif

// The same place in the shared memory of another block of the cluster.
__device__ const float* of_block(int block, const float* p)
{
    const float* there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(p), "r"(block));
    return there;
}

__device__ void cluster_barrier()
{
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}
// endregion

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) IN_CLUSTERS
sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
      int lda, int ldb, int ldc, float* workspace)
{
    // region: pieces
    int tile = STREAM ? begin(blockIdx.x, M, N, K) / steps_of(K) : blockIdx.x / SPLITS;
    do {  // one tile of the stretch after the other
        // region: mapping
        int thread = threadIdx.x;
        if (STREAM)  // what follows from it is computed anew for each tile, not kept in registers
            asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
        bool aligned_c = N % 4 == 0 && aligned(C, ldc);  // so a float4 is whole or not at all
        int slice = SLICES > 1 ? thread / (THREADS / SLICES) : 0;
        int warp = thread / 32 - slice * (THREADS / SLICES / 32);
        int lane = thread % 32;
        int lane_row = lane / (2 * LANES_N) * 2 + lane % 2;
        int lane_col = lane / 2 % LANES_N;
        int row = warp / (BN / WN) * WM + lane_row * 4;
        int col = warp % (BN / WN) * WN + lane_col * 4;
        // endregion
        Piece now = piece(tile, M, N, K);
        int k = now.first * BK, depth = min(now.end * BK, K) - k;
        const float* a = A + (TRANS_A ? (size_t)k * lda + now.row : (size_t)now.row * lda + k);
        const float* b = B + (TRANS_B ? (size_t)now.col * ldb + k : (size_t)k * ldb + now.col);
        float sum[TM][TN] = {};
        bool inside = now.row + BM <= M && now.col + BN <= N &&
                      (!TRANS_A || aligned(A, lda)) && (TRANS_B || aligned(B, ldb));
        if (inside)
            multiply<true>(sum, a, b, depth, lda, ldb, M - now.row, N - now.col, row, col, slice);
        else
            multiply<false>(sum, a, b, depth, lda, ldb, M - now.row, N - now.col, row, col, slice);
        // endregion

        // region: store
        if (STREAM)
            now = piece(tile, M, N, K);  // anew: meanwhile the registers had other work
        bool whole = CLUSTER || SPLITS == 1 && !STREAM || now.first == 0 && now.end == steps_of(K);
        int rows = M - now.row, cols = N - now.col;  // from the corner on
        float* c = C + (size_t)now.row * ldc + now.col;
        if (!CLUSTER && SLICES == 1 && whole && aligned_c) {
            #pragma unroll
            for (int i = 0; i < TM; ++i)
                #pragma unroll
                for (int j = 0; j < TN; j += 4)
                    if (ROW(i) < rows && COL(j) < cols) {
                        float4* at = (float4*)&c[(size_t)ROW(i) * ldc + COL(j)];
                        float4 old = {};
                        if (beta != 0.0f)
                            old = *at;
                        *at = {alpha * sum[i][j] + beta * old.x,
                               alpha * sum[i][j + 1] + beta * old.y,
                               alpha * sum[i][j + 2] + beta * old.z,
                               alpha * sum[i][j + 3] + beta * old.w};
                    }
        } else {  // through shared memory, so that a warp stores neighbours
            auto store = [&](int e, float x) {
                int i = e / BN, j = e % BN;
                if (!whole)
                    workspace[(size_t)now.part * BM * BN + e] = x;
                else if (i < rows && j < cols) {
                    if (SLICES > 1 || CLUSTER)
                        x = finite(x, A, B, K, lda, ldb, now.row + i, now.col + j);
                    update(c[(size_t)i * ldc + j], x, alpha, beta);
                }
            };
            __syncthreads();
            #pragma unroll
            for (int i = 0; i < TM; ++i)
                #pragma unroll
                for (int j = 0; j < TN; j += 4)
                    FLOAT4(shared[(slice * BM + ROW(i)) * BN + COL(j)]) = FLOAT4(sum[i][j]);
            __syncthreads();
            #pragma unroll 4
            for (int e = thread; e < BM * BN; e += THREADS) {
                float x = shared[e];
                for (int i = 1; i < SLICES; ++i)
                    x += shared[i * BM * BN + e];
                if (CLUSTER)
                    shared[e] = x;
                else
                    store(e, x);
            }
            if (CLUSTER) {
                cluster_barrier();
                #pragma unroll 4
                for (int e = blockIdx.x % SPLITS * THREADS + thread; e < BM * BN; e += SPLITS * THREADS) {
                    float x = *of_block(0, &shared[e]);
                    for (int block = 1; block < SPLITS; ++block)
                        x += *of_block(block, &shared[e]);
                    store(e, x);
                }
                cluster_barrier();  // nobody leaves before its sums have been read
            }
        }
        // endregion
        if (STREAM)
            __syncthreads();  // before the stages are filled again
    } while (STREAM && (long long)++tile * steps_of(K) < begin(blockIdx.x + 1, M, N, K));
}

// region: reduce
// Sums the parts of a tile, an element a thread.
extern "C" __global__ void __launch_bounds__(256)
reduce(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
       int lda, int ldb, int ldc, float* workspace)
{
    int tile = blockIdx.x, steps = steps_of(K);
    int e = blockIdx.y * 256 + threadIdx.x;
    Piece now = piece(tile, M, N, K);
    int row = now.row + e / BN, col = now.col + e % BN;
    if (e >= BM * BN || row >= M || col >= N)
        return;
    float x = 0.0f;
    if (STREAM) {
        long long from = (long long)tile * steps, all = begin(STREAM, M, N, K);
        int block = ((from + 1) * STREAM - 1) / all;  // the one with the tile's first step,
        int last = ((from + steps) * STREAM - 1) / all;  // and the one with its last
        if (block == last)
            return;  // it has all of the tile
        x = workspace[(size_t)(2 * block + (begin(block, M, N, K) < from)) * BM * BN + e];
        #pragma unroll 8
        for (++block; block <= last; ++block)
            x += workspace[(size_t)2 * block * BM * BN + e];
    } else {
        if (steps == 1)
            return;  // the last split has all of it
        #pragma unroll 16
        for (int split = 0; split < SPLITS; ++split)
            x += workspace[(size_t)(tile * SPLITS + split) * BM * BN + e];
    }
    x = finite(x, A, B, K, lda, ldb, row, col);
    update(C[(size_t)row * ldc + col], x, alpha, beta);
}
// endregion
