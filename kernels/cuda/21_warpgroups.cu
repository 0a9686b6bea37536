// Warpgroups: wgmma, bulk copies, mbarriers
//
// A warpgroup is four warps. With wgmma it hands the tensor cores a product of 64 x 128 x 16 in one
// instruction, whose factors they read from shared memory by themselves: no fragments in registers,
// no ldmatrix. They lie there as core matrices, eight rows of 16 bytes, and pack has written them to
// memory in the same order. So a tile of all parts is one stretch of bytes, and one thread fetches it
// with one bulk copy. mbarriers count: `full` the bytes that have arrived in a stage, `empty` the warps
// that have done with it.
// As before, a float32 is three parts in BF16, the products are six, and each BK of k is summed on
// its own, since tensor cores truncate. Where the parts are not all of a number (infinities, NaN, and
// numbers that BF16 is too narrow for), where a sum overflows, and where K is small, a block computes
// its tile again with FMAs.
// SPLITS=2 gives a tile to two blocks of a cluster, each of which takes half of K.
//
// launch: pack(grid=(((M + BM - 1) // BM * BM + (N + BN - 1) // BN * BN) // 64 * ((K + BK - 1) // BK),), block=8 * BK)
// launch: sgemm(grid=((M + BM - 1) // BM * ((N + BN - 1) // BN) * SPLITS,), block=2 * BM, shared=STAGES * 6 * BK * (BM + BN))
// workspace: ((M + BM - 1) // BM * BM + (N + BN - 1) // BN * BN) // 64 * ((K + BK - 1) // BK) * (6 * 64 * BK + 4)
// arguments: lda ldb ldc workspace
// compute capability: 9.0a
// variant: BN=128 STAGES=4 SPLITS=2
// variant: TRANS_A=1 TRANS_B=1

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 256
#endif
#ifndef BK
#define BK 32
#endif
#ifndef STAGES
#define STAGES 3
#endif
#ifndef SPLITS
#define SPLITS 1
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
#ifndef SMALL_K
#define SMALL_K 2
#endif

#define PARTS 3
#define THREADS (2 * BM)     // a warpgroup for 64 rows
#define UNITS (BK / 8)       // of 16 bytes, eight k of one part, in a row of a tile
#define COLS (BN / SPLITS)   // that a block stores
#define A_AT(row, k) A[TRANS_A ? (size_t)(k) * lda + (row) : (size_t)(row) * lda + (k)]
#define B_AT(k, col) B[TRANS_B ? (size_t)(col) * ldb + (k) : (size_t)(k) * ldb + (col)]
#define ARGUMENTS                                                                              \
    int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C,    \
    int lda, int ldb, int ldc, float *workspace

static_assert(BM == 64 || BM == 128, "more than two warpgroups have too few registers");
static_assert(BN == 128 || BN == 256, "a wgmma has 128 columns");
static_assert(BK % 16 == 0, "a wgmma has 16 k");
static_assert(SPLITS == 1 || SPLITS == 2, "a pair of blocks shares a tile");

// region: stage
// The parts of a tile of A and of B in shared memory, and in the workspace, those of A apart
// from those of B.
struct Stage {
    uint4 a[PARTS][UNITS][BM];
    uint4 b[PARTS][UNITS][BN];
};
// endregion
static_assert(STAGES * sizeof(Stage) <= 227 * 1024 - 64, "a block may share 227 KiB");

// region: mbarriers
typedef unsigned long long mbarrier;

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void init(mbarrier *b, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :: "r"(shared(b)), "r"(arrivals) : "memory");
}
__device__ void arrive(mbarrier *b)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared(b)) : "memory");
}
__device__ void arrive_expect(mbarrier *b, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(shared(b)), "r"(bytes) : "memory");
}
__device__ void wait(mbarrier *b, int parity)  // until the phase of this parity is over
{
    int over;
    do
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.s32 %0, 1, 0, p;\n\t}"
                     : "=r"(over) : "r"(shared(b)), "r"(parity) : "memory");
    while (!over);
}
__device__ void bulk_copy(void *to, const void *from, int bytes, mbarrier *b)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];"
                 :: "r"(shared(to)), "l"(from), "r"(bytes), "r"(shared(b)) : "memory");
}
// endregion

// region: wgmma
__device__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
__device__ void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }

// Core matrices of a tile whose units lie `rows` apart, from p on. Adding 1 to it moves it by a
// unit, 16 bytes.
__device__ unsigned long long descriptor(const uint4 *p, int rows)
{
    unsigned long long next_unit = rows, next_eight_rows = 8;
    return (shared(p) & 0x3ffff) >> 4 | next_unit << 16 | next_eight_rows << 32;
}

#define FOUR(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(d, i) FOUR(d, i), FOUR(d, i + 4), FOUR(d, i + 8), FOUR(d, i + 12)

// d = a b + d, or a b alone, of 64 rows, 128 columns and 16 k.
__device__ void wgmma(float (&d)[64], unsigned long long a, unsigned long long b, bool add)
{
    asm volatile(
        "{\n\t.reg .pred add;\n\tsetp.ne.b32 add, %66, 0;\n\t"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, add, 1, 1, 0, 0;\n\t}"
        : SIXTEEN(d, 0), SIXTEEN(d, 16), SIXTEEN(d, 32), SIXTEEN(d, 48)
        : "l"(a), "l"(b), "r"((int)add));
}
// endregion

// region: cluster
__device__ unsigned cluster_rank()
{
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
                 "barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ void store_remote(float *p, unsigned rank, float x)  // where block `rank` has p
{
    asm volatile("{\n\t.reg .b32 there;\n\t"
                 "mapa.shared::cluster.u32 there, %0, %1;\n\t"
                 "st.shared::cluster.f32 [there], %2;\n\t}"
                 :: "r"(shared(p)), "r"(rank), "f"(x) : "memory");
}
// endregion

// region: split
// The next part of two neighbours, rounded to BF16 and side by side; x is what they leave.
__device__ unsigned next_part(float &x0, float &x1)
{
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(x1), "f"(x0));
    x0 -= __uint_as_float(pair << 16);
    x1 -= __uint_as_float(pair & 0xffff0000);
    return pair;
}
// endregion

// region: pack
// One of the pieces of 64 rows (columns of B) and BK of k, whose parts go where bulk copies fetch
// them, with zeros for what lies outside. A flag tells whether they leave anything.
template <int ROWS, bool ALONG_K>
__device__ void pack_piece(const float *X, int ld, int rows, int K, int piece, uint4 *to, int *flag)
{
    int tiles_k = (K + BK - 1) / BK, groups = (rows + ROWS - 1) / ROWS * (ROWS / 64);
    int group = ALONG_K ? piece / tiles_k : piece % groups;  // neighbours read what lies side by side
    int tile_k = ALONG_K ? piece % tiles_k : piece / groups;
    int unit = ALONG_K ? threadIdx.x % UNITS : threadIdx.x / 64;
    int row = 64 * group + (ALONG_K ? threadIdx.x / UNITS : threadIdx.x % 64);
    int k = BK * tile_k + 8 * unit;

    const float *from = X + (ALONG_K ? (size_t)row * ld + k : (size_t)k * ld + row);
    int n = row < rows ? K - k : 0;  // of the eight, those that exist
    float x[8];
    if (ALONG_K && n >= 8 && ld % 4 == 0 && (size_t)X % 16 == 0) {
        *(float4 *)&x[0] = *(const float4 *)from;
        *(float4 *)&x[4] = *(const float4 *)(from + 4);
    } else {
        for (int i = 0; i < 8; ++i)
            x[i] = i < n ? from[ALONG_K ? i : (size_t)i * ld] : 0.0f;
    }

    to += ((size_t)(row / ROWS * tiles_k + tile_k) * PARTS * UNITS + unit) * ROWS + row % ROWS;
    for (int part = 0; part < PARTS; ++part)
        to[part * UNITS * ROWS] = {next_part(x[0], x[1]), next_part(x[2], x[3]),
                                   next_part(x[4], x[5]), next_part(x[6], x[7])};
    bool left = false;  // of infinities and of NaN, a NaN is
    for (int i = 0; i < 8; ++i)
        left |= x[i] != 0.0f;
    left = __syncthreads_or(left);
    if (threadIdx.x == 0)
        flag[group * tiles_k + tile_k] = left;
}

// Where things are in the workspace.
struct Packed {
    int tiles_k, groups_a, groups_b;
    uint4 *a, *b;
    int *flag_a, *flag_b;

    __device__ Packed(int M, int N, int K, float *workspace)
    {
        tiles_k = (K + BK - 1) / BK;
        groups_a = (M + BM - 1) / BM * (BM / 64);
        groups_b = (N + BN - 1) / BN * (BN / 64);
        a = (uint4 *)workspace;
        b = a + (size_t)groups_a * tiles_k * (64 * PARTS * UNITS);
        flag_a = (int *)(b + (size_t)groups_b * tiles_k * (64 * PARTS * UNITS));
        flag_b = flag_a + groups_a * tiles_k;
    }
};

extern "C" __global__ void __launch_bounds__(8 * BK) pack(ARGUMENTS)
{
    Packed p(M, N, K, workspace);
    int piece = blockIdx.x, of_a = p.groups_a * p.tiles_k;
    if (piece < of_a)
        pack_piece<BM, !TRANS_A>(A, lda, M, K, piece, p.a, p.flag_a);
    else
        pack_piece<BN, TRANS_B>(B, ldb, N, K, piece - of_a, p.b, p.flag_b);
}
// endregion

// region: store
// Two neighbours of C, of which the first n exist.
__device__ void store2(float *c, int n, bool aligned, float alpha, float x, float y, float beta)
{
    float old_x = 0, old_y = 0;
    if (beta != 0.0f) {
        old_x = n > 0 ? c[0] : 0;
        old_y = n > 1 ? c[1] : 0;
    }
    x = alpha * x + beta * old_x;
    y = alpha * y + beta * old_y;
    if (n > 1 && aligned) {
        *(float2 *)c = {x, y};
    } else {
        if (n > 0) c[0] = x;
        if (n > 1) c[1] = y;
    }
}
// endregion

extern "C" __global__ void __launch_bounds__(THREADS, 1)
#if SPLITS > 1
__cluster_dims__(SPLITS, 1, 1)
#endif
sgemm(ARGUMENTS)
{
    extern __shared__ __align__(128) Stage stages[];
    __shared__ mbarrier full[STAGES], empty[STAGES];

    // region: mapping
    Packed p(M, N, K, workspace);
    int rank = SPLITS > 1 ? cluster_rank() : 0;
    int tiles_m = (M + BM - 1) / BM, tiles_n = (N + BN - 1) / BN, tile = blockIdx.x / SPLITS;
    int group = tile / (GROUP * tiles_n) * GROUP;  // GROUP rows of tiles, column by column
    int height = min(GROUP, tiles_m - group);
    int tile_m = group + tile % (GROUP * tiles_n) % height;
    int tile_n = tile % (GROUP * tiles_n) / height;
    int first = p.tiles_k * rank / SPLITS, tiles = p.tiles_k * (rank + 1) / SPLITS - first;
    int thread = threadIdx.x;
    int warpgroup = thread / 128;
    // endregion

    // region: fill
    const uint4 *a = p.a + ((size_t)tile_m * p.tiles_k + first) * (PARTS * UNITS * BM);
    const uint4 *b = p.b + ((size_t)tile_n * p.tiles_k + first) * (PARTS * UNITS * BN);
    auto fill = [&](int i) {  // tile i along K goes to a stage
        Stage &to = stages[i % STAGES];
        arrive_expect(&full[i % STAGES], sizeof(Stage));
        bulk_copy(to.a, a + (size_t)i * (PARTS * UNITS * BM), sizeof(to.a), &full[i % STAGES]);
        bulk_copy(to.b, b + (size_t)i * (PARTS * UNITS * BN), sizeof(to.b), &full[i % STAGES]);
    };
    if (thread == 0) {
        for (int i = 0; i < STAGES; ++i) {
            init(&full[i], 1);
            init(&empty[i], THREADS / 32);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        for (int i = 0; i < min(STAGES, tiles); ++i)
            fill(i);
    }
    // endregion
    // region: flags
    bool again = K <= SMALL_K;
    for (int i = thread; i < BM / 64 * p.tiles_k; i += THREADS)
        again |= p.flag_a[tile_m * (BM / 64) * p.tiles_k + i] != 0;
    for (int i = thread; i < BN / 64 * p.tiles_k; i += THREADS)
        again |= p.flag_b[tile_n * (BN / 64) * p.tiles_k + i] != 0;
    again = __syncthreads_or(again);
    // endregion

    // region: loop
    const int part_a[] = {2, 0, 1, 1, 0, 0}, part_b[] = {0, 2, 1, 0, 1, 0};  // the least first
    float sum[BN / 2] = {};
    for (int i = 0; i < tiles; ++i) {
        Stage &now = stages[i % STAGES];
        wait(&full[i % STAGES], i / STAGES % 2);
        #pragma unroll
        for (int half = 0; half < BN / 128; ++half) {
            unsigned long long a = descriptor(&now.a[0][0][64 * warpgroup], BM);
            unsigned long long b = descriptor(&now.b[0][0][128 * half], BN);
            float chain[64];
            wgmma_fence();
            #pragma unroll
            for (int j = 0; j < 6; ++j)
                #pragma unroll
                for (int unit = 0; unit < UNITS; unit += 2)
                    wgmma(chain, a + (part_a[j] * UNITS + unit) * BM,
                          b + (part_b[j] * UNITS + unit) * BN, j + unit > 0);
            wgmma_commit();
            if (half == 0 && thread == 0 && i > 0 && i - 1 + STAGES < tiles) {
                wait(&empty[(i - 1) % STAGES], (i - 1) / STAGES % 2);
                fill(i - 1 + STAGES);
            }
            wgmma_wait();
            if (half == BN / 128 - 1 && thread % 32 == 0)
                arrive(&empty[i % STAGES]);
            #pragma unroll
            for (int j = 0; j < 64; ++j)
                sum[64 * half + j] += chain[j];
        }
    }
    // endregion

    int row0 = BM * tile_m, col0 = BN * tile_n + COLS * rank;
    // region: exchange
    if (SPLITS > 1) {
        float *received = (float *)stages;
        cluster_sync();
        #pragma unroll
        for (int i = 0; i < BN / 4; ++i)
            store_remote(&received[i * THREADS + thread], rank ^ 1, rank ? sum[i] : sum[BN / 4 + i]);
        cluster_sync();
        #pragma unroll
        for (int i = 0; i < BN / 4; ++i)
            sum[i] = (rank ? sum[BN / 4 + i] : sum[i]) + received[i * THREADS + thread];
    }
    // endregion

    bool aligned = ldc % 2 == 0 && (size_t)C % 8 == 0;
    // region: again
    #pragma unroll
    for (int i = 0; i < COLS / 2; ++i)
        again |= !(fabsf(sum[i]) < __int_as_float(0x7f800000));
    if (__syncthreads_or(again)) {
        for (int row = row0 + thread / 32 * 8; row < row0 + BM; row += THREADS / 32 * 8)
            for (int col = col0 + thread % 32 * 2; col < min(col0 + COLS, N); col += 64) {
                float x[8][2] = {};
                for (int k = 0; k < K; ++k) {
                    float b0 = B_AT(k, col), b1 = B_AT(k, min(col + 1, N - 1));
                    for (int i = 0; i < 8; ++i) {
                        float a = A_AT(min(row + i, M - 1), k);
                        x[i][0] += a * b0;
                        x[i][1] += a * b1;
                    }
                }
                for (int i = 0; i < 8 && row + i < M; ++i)
                    store2(&C[(size_t)(row + i) * ldc + col], N - col, aligned, alpha, x[i][0],
                           x[i][1], beta);
            }
        return;
    }
    // endregion

    int row = row0 + 16 * (thread / 32) + thread % 32 / 4, col = col0 + thread % 4 * 2;
    #pragma unroll
    for (int j = 0; j < COLS / 8; ++j)
        #pragma unroll
        for (int i = 0; i < 2; ++i)
            store2(&C[(size_t)(row + 8 * i) * ldc + col + 8 * j],
                   row + 8 * i < M ? N - col - 8 * j : 0, aligned, alpha, sum[4 * j + 2 * i],
                   sum[4 * j + 2 * i + 1], beta);
}
