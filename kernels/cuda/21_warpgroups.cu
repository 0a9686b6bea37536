// Warpgroups: wgmma, bulk copies, mbarriers
//
// A warpgroup is four warps. With one wgmma it hands the tensor cores a product of 64 x 128 x 16,
// whose factors they fetch from shared memory themselves, and goes on: there are no fragments of A
// and B in registers any more, and no ldmatrix. They want the factors as core matrices, eight rows
// of 16 bytes, and `pack` lays the parts down so. A tile is then one stretch of bytes, and a single
// thread has it copied by a single instruction. mbarriers count: `full` the bytes that have come to
// a stage, `empty` the warps that have done with it.
// Two warpgroups share the tensor cores of an SM. The second one begins when the first has its
// first chain; from then on one multiplies while the other adds.
// The parts are three of BF16, the products six; a chain is BK of k, since tensor cores truncate.
// RUN chains are a sum, and sums are the total: where less is added up, additions lose less. With
// EXACT=1, what an addition loses is where the next chain begins: errors do not grow with K.
// Of numbers below 2^-110 parts may leave 2^-134, which matters to small sums only. Rows of a tile
// with such a sum, or one that is not finite, as infinities, NaN and what rounds to an infinity
// make it, and all where K is below LEAST_K, are computed again with FMAs, AGAIN rows at a time.
// SPLITS=2 gives a tile to two blocks of a cluster, half of K to each, for products of few tiles.
// Look at the tensor cores, which have work nearly all the time, and at the errors.
// tensor cores: yes
// launch: pack(grid=((M + BM - 1) // BM * (BM // 64) + (N + BN - 1) // BN * (BN // 64)) * ((K + BK - 1) // BK), block=8 * BK, when=K >= LEAST_K)
// launch: sgemm(grid=(M + BM - 1) // BM * ((N + BN - 1) // BN) * SPLITS, block=2 * BM, shared=max(STAGES * (6 * BK * (BM + BN) + 256), 4 * BM * BN))
// workspace: (K + BK - 1) // BK * ((M + BM - 1) // BM * (6 * BK * BM + 128) + (N + BN - 1) // BN * (6 * BK * BN + 128))
// arguments: lda ldb ldc workspace
// compute capability: 9.0a
// variant: SPLITS=2
// variant: EXACT=1
// variant: TRANS_A=1 TRANS_B=1

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK
#define BK 32
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef EXACT
#define EXACT 0
#endif
#ifndef SPLITS
#define SPLITS 1
#endif
#ifndef GROUP
#define GROUP 16
#endif
#ifndef LEAST_K
#define LEAST_K 8
#endif
#ifndef TRANS_A
#define TRANS_A 0
#endif
#ifndef TRANS_B
#define TRANS_B 0
#endif

#define PARTS 3
#define RUN 16              // chains in a sum
#define TINY 1              // of a row or a column: parts leave something of a number,
#define VAST 2              // there is one of at least 2^64
#define AGAIN 16            // rows that are computed again at a time,
#define BLOCK 64            // and so many k by each warp
#define UNITS (BK / 8)      // of 16 bytes in a row of a tile
#define THREADS (2 * BM)    // a warpgroup for 64 rows
#define COLS (BN / SPLITS)  // of C that a block stores
#define FLOAT4(x) (*(float4*)&(x))
#define A_AT(i, k) A[TRANS_A ? (size_t)(k) * lda + (i) : (size_t)(i) * lda + (k)]
#define B_AT(k, j) B[TRANS_B ? (size_t)(j) * ldb + (k) : (size_t)(k) * ldb + (j)]

static_assert(BM == 64 || BM == 128, "a block has one warpgroup or two");
static_assert(BN == 128, "a wgmma has 128 columns");
static_assert(BK > 0 && BK % 16 == 0, "a wgmma has 16 k");
static_assert(STAGES > 1, "one stage is filled while another is read");
static_assert(GROUP > 0, "a group has a row of blocks at least");
static_assert((TRANS_A | TRANS_B | 1) == 1, "an operand is transposed, 1, or not, 0");
static_assert(SPLITS == 1 || SPLITS == 2, "two blocks exchange their sums");

// region: tile
// Parts of the numbers in ROWS rows of A, or columns of B, and BK along k.
template <int ROWS>
struct __align__(128) Tile {
    uint4 unit[PARTS][UNITS][ROWS];  // of eight neighbours along k
    unsigned char kind[128];         // TINY and VAST, by rows, in 128 bytes
};

struct Kind {     // of a row or column of a tile
    float least;  // a sum of at least this times the other's `most` bears what tiny numbers lose
    float most;   // 2^64 times this is more than any of its numbers
};

struct Stage {
    Tile<BM> a;
    Tile<BN> b;
};
// endregion
static_assert(STAGES * sizeof(Stage) + 3072 <= 227 * 1024, "a block may share 227 KiB");

// region: split
// Takes the next part off two numbers and returns it.
__device__ unsigned part(float* x)
{
    unsigned bits;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(x[1]), "f"(x[0]));
    x[0] -= __uint_as_float(bits << 16);
    x[1] -= __uint_as_float(bits & 0xffff0000);
    return bits;
}
// endregion

// Four neighbours from p on, of which the first n exist, and zeros for the others.
__device__ float4 load4(const float* p, int n, bool aligned)
{
    if (n >= 4 && aligned)
        return FLOAT4(*p);
    return {n > 0 ? p[0] : 0, n > 1 ? p[1] : 0, n > 2 ? p[2] : 0, n > 3 ? p[3] : 0};
}

// region: pack
// Packs 64 rows of a tile of X, of which `rows` rows and K numbers along k exist; a unit a thread.
template <int ROWS, bool ALONG_K>
__device__ void pack_tile(const float* X, int ld, int rows, int K, Tile<ROWS>* tiles, int block)
{
    __shared__ int kinds[64];
    int depth = (K + BK - 1) / BK, groups = (rows + ROWS - 1) / ROWS * (ROWS / 64);
    int group = ALONG_K ? block / depth : block % groups;  // blocks side by side read neighbours
    int k = (ALONG_K ? block % depth : block / groups) * BK;
    Tile<ROWS>& tile = tiles[(size_t)(group * 64 / ROWS) * depth + k / BK];
    int thread = threadIdx.x;
    int unit = ALONG_K ? thread % UNITS : thread / 64;
    int in_group = ALONG_K ? thread / UNITS : thread % 64, row = group * 64 + in_group;
    bool aligned = ld % 4 == 0 && (size_t)X % 16 == 0;
    k += 8 * unit;

    if (thread < 64)
        kinds[thread] = 0;
    float x[8];
    int kind = 0;
    for (int i = 0; i < 8; i += ALONG_K ? 4 : 1)
        if (ALONG_K)
            FLOAT4(x[i]) = load4(&X[(size_t)row * ld + k + i], row < rows ? K - k - i : 0, aligned);
        else
            x[i] = row < rows && k + i < K ? X[(size_t)(k + i) * ld + row] : 0;
    for (int i = 0; i < 8; ++i)
        kind |= fabsf(x[i]) >= 0x1p64f ? VAST : 0;
    for (int p = 0; p < PARTS; ++p)
        tile.unit[p][unit][row % ROWS] = {part(&x[0]), part(&x[2]), part(&x[4]), part(&x[6])};
    for (int i = 0; i < 8; ++i)
        kind |= x[i] != 0 ? TINY : 0;
    if (__syncthreads_or(kind)) {
        atomicOr(&kinds[in_group], kind);
        __syncthreads();
    }
    constexpr int BYTES = 128 * 64 / ROWS;  // of these 64 rows
    if (thread < BYTES)
        tile.kind[group % (ROWS / 64) * BYTES + thread] = kinds[thread % 64];
}

extern "C" __global__ void __launch_bounds__(8 * BK)
pack(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
     int lda, int ldb, int ldc, float* workspace)
{
    int depth = (K + BK - 1) / BK, tiles_m = (M + BM - 1) / BM;
    int block = blockIdx.x, of_a = tiles_m * (BM / 64) * depth;
    Tile<BM>* a = (Tile<BM>*)workspace;
    if (block < of_a)
        pack_tile<BM, !TRANS_A>(A, lda, M, K, a, block);
    else
        pack_tile<BN, TRANS_B>(B, ldb, N, K, (Tile<BN>*)(a + (size_t)tiles_m * depth),
                               block - of_a);
}
// endregion

__device__ Kind kind(unsigned bits)
{
    return {bits & TINY ? 0x1p-42f : 0, bits & VAST ? 0x1p64f : 1};
}

__device__ unsigned shared_address(const void* p) { return __cvta_generic_to_shared(p); }

// region: mbarriers
typedef unsigned long long mbarrier;

__device__ void init(mbarrier* b, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :: "r"(shared_address(b)), "r"(arrivals) : "memory");
}
__device__ void arrive(mbarrier* b)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared_address(b)) : "memory");
}
__device__ void arrive_expect(mbarrier* b, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(shared_address(b)), "r"(bytes) : "memory");
}
__device__ void wait(mbarrier* b, int parity)  // until a phase of this parity is over
{
    int over;
    do
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.s32 %0, 1, 0, p;\n\t}"
                     : "=r"(over) : "r"(shared_address(b)), "r"(parity) : "memory");
    while (!over);
}
__device__ void bulk_copy(void* to, const void* from, int bytes, mbarrier* b)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];"
                 :: "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(b))
                 : "memory");
}
// endregion

// region: wgmma
__device__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
__device__ void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }

// Where a factor lies whose next unit along k is `rows` units further on. Add n to it for n units.
__device__ unsigned long long descriptor(const uint4* p, int rows)
{
    unsigned long long next_unit = rows, next_eight_rows = 8;
    return (shared_address(p) & 0x3ffff) >> 4 | next_unit << 16 | next_eight_rows << 32;
}

#define FOUR(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(d, i) FOUR(d, i), FOUR(d, i + 4), FOUR(d, i + 8), FOUR(d, i + 12)

// d = a b, and + d if it is to be added: 64 x 128, over two units along k
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
__device__ int cluster_rank()
{
    int rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
                 "barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ void store_there(float* p, int rank, float x)  // to where block `rank` has p
{
    asm volatile("{\n\t.reg .b32 there;\n\t"
                 "mapa.shared::cluster.u32 there, %0, %1;\n\t"
                 "st.shared::cluster.f32 [there], %2;\n\t}"
                 :: "r"(shared_address(p)), "r"(rank), "f"(x) : "memory");
}
// endregion

extern "C" __global__ void __launch_bounds__(THREADS, 1)
#if SPLITS > 1
__cluster_dims__(SPLITS, 1, 1)
#endif
sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
      int lda, int ldb, int ldc, float* workspace)
{
    // region: mapping
    extern __shared__ Stage stages[];
    __shared__ mbarrier full[STAGES], empty[STAGES], begun;
    __shared__ Kind of_rows[BM], of_cols[BN];
    __shared__ unsigned marked[BM / 32];  // rows of the tile to be computed again
    int depth = K < LEAST_K ? 0 : (K + BK - 1) / BK;
    int tiles_m = (M + BM - 1) / BM, tiles_n = (N + BN - 1) / BN;
    int tile = blockIdx.x / SPLITS, rank = SPLITS > 1 ? cluster_rank() : 0;
    int first = tile / (GROUP * tiles_n) * GROUP;  // GROUP rows of tiles, column by column
    int height = min(GROUP, tiles_m - first);
    int tile_m = first + tile % (GROUP * tiles_n) % height;
    int tile_n = tile % (GROUP * tiles_n) / height;
    int from = depth * rank / SPLITS;  // the part of K that is the block's
    const Tile<BM>* a = (Tile<BM>*)workspace;
    const Tile<BN>* b = (Tile<BN>*)(a + (size_t)tiles_m * depth) + (size_t)tile_n * depth + from;
    a += (size_t)tile_m * depth + from;
    depth = depth * (rank + 1) / SPLITS - from;
    int thread = threadIdx.x;
    // endregion

    // region: fill
    auto fill = [&](int k) {  // has tiles k copied to their stage
        Stage& to = stages[k % STAGES];
        arrive_expect(&full[k % STAGES], sizeof(Stage));
        bulk_copy(&to.a, &a[k], sizeof(to.a), &full[k % STAGES]);
        bulk_copy(&to.b, &b[k], sizeof(to.b), &full[k % STAGES]);
    };
    if (thread == 0) {
        for (int i = 0; i < STAGES; ++i) {
            init(&full[i], 1);
            init(&empty[i], THREADS / 32);
        }
        init(&begun, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        for (int k = 0; k < min(STAGES, depth); ++k)
            fill(k);
    }
    if (thread < BM / 32)
        marked[thread] = 0;
    __syncthreads();
    // endregion

    // region: loop
    float total[BN / 2] = {}, sum[BN / 2] = {}, chain[BN / 2] = {};
    unsigned kind_a = 0, kind_b = 0;  // of four rows and four columns
    #pragma unroll(EXACT ? 2 : 1)
    for (int k = 0; k < depth; ++k) {
        const Stage& now = stages[k % STAGES];
        wait(&full[k % STAGES], k / STAGES % 2);

        // region: products
        unsigned long long a = descriptor(&now.a.unit[0][0][thread / 128 * 64], BM);
        unsigned long long b = descriptor(&now.b.unit[0][0][0], BN);
        if (thread >= 128 && k == 0)  // the second warpgroup
            wait(&begun, 0);
        wgmma_fence();
        #pragma unroll
        for (int order = PARTS - 1; order >= 0; --order)  // the smallest products first
            #pragma unroll
            for (int p = 0; p <= order; ++p)
                #pragma unroll
                for (int unit = 0; unit < UNITS; unit += 2)
                    wgmma(chain, a + (p * UNITS + unit) * BM,
                          b + ((order - p) * UNITS + unit) * BN,
                          EXACT || order < PARTS - 1 || p + unit > 0);
        wgmma_commit();
        // endregion

        // region: refill
        if (thread == 0 && k > 0 && k - 1 + STAGES < depth) {
            wait(&empty[(k - 1) % STAGES], (k - 1) / STAGES % 2);
            fill(k - 1 + STAGES);
        }
        kind_a |= ((unsigned*)now.a.kind)[thread % 32];
        kind_b |= ((unsigned*)now.b.kind)[thread % 32];
        wgmma_wait();
        if (thread == 0 && k == 0)
            arrive(&begun);
        __syncwarp();
        if (thread % 32 == 0)
            arrive(&empty[k % STAGES]);
        // endregion

        // region: sums
        #pragma unroll
        for (int i = 0; i < BN / 2; ++i) {
            float next = sum[i] + chain[i];
            if (EXACT)
                chain[i] -= next - sum[i];  // what next lacks
            sum[i] = next;
        }
        if (!EXACT && k % RUN == RUN - 1)
            #pragma unroll
            for (int i = 0; i < BN / 2; ++i) {
                total[i] += sum[i];
                sum[i] = 0;
            }
        // endregion
    }
    #pragma unroll
    for (int i = 0; i < BN / 2; ++i)
        sum[i] += total[i];
    // endregion

    // region: exchange
    if (SPLITS > 1) {  // half of the sums for the other half
        float* received = (float*)stages;
        cluster_sync();
        #pragma unroll
        for (int i = 0; i < BN / 4; ++i)
            store_there(&received[i * THREADS + thread], rank ^ 1, rank ? sum[i] : sum[BN / 4 + i]);
        store_there(&received[BN / 4 * THREADS + thread], rank ^ 1, __uint_as_float(kind_a));
        store_there(&received[(BN / 4 + 1) * THREADS + thread], rank ^ 1, __uint_as_float(kind_b));
        cluster_sync();
        #pragma unroll
        for (int i = 0; i < BN / 4; ++i)
            sum[i] = (rank ? sum[BN / 4 + i] : sum[i]) + received[i * THREADS + thread];
        kind_a |= __float_as_uint(received[BN / 4 * THREADS + thread]);
        kind_b |= __float_as_uint(received[(BN / 4 + 1) * THREADS + thread]);
    }
    // endregion

    // region: store
    bool aligned = ldc % 2 == 0 && (size_t)C % 8 == 0;
    int row = BM * tile_m, col = BN * tile_n + COLS * rank;
    auto store = [&](int i, int j, float x, float y) {  // two neighbours
        float* c = &C[(size_t)i * ldc + j];
        int n = i < M ? N - j : 0;
        x = alpha * x + (beta != 0.0f && n > 0 ? beta * c[0] : 0.0f);
        y = alpha * y + (beta != 0.0f && n > 1 ? beta * c[1] : 0.0f);
        if (n > 1 && aligned) {
            *(float2*)c = {x, y};
        } else {
            if (n > 0) c[0] = x;
            if (n > 1) c[1] = y;
        }
    };
    // endregion

    // region: guard
    // A sum that is too small for what a tiny number of its row or column lost, or not finite,
    // marks its row.
    int in_tile = thread / 32 * 16 + thread % 32 / 4;  // the thread's other row is eight further on
    int cols = N - col - thread % 4 * 2;  // from the thread's first on that exist
    bool again[2] = {K < LEAST_K, K < LEAST_K};
    #pragma unroll
    for (int i = 0; i < COLS / 2; ++i)
        again[i / 2 % 2] |= sum[i] - sum[i] != 0;
    if (__any_sync(~0u, kind_a | kind_b)) {  // as in all warps
        for (int r = thread; r < BM; r += THREADS)
            of_rows[r] = kind(__shfl_sync(~0u, kind_a, r / 4) >> r % 4 * 8);
        for (int c = thread; c < BN; c += THREADS)
            of_cols[c] = kind(__shfl_sync(~0u, kind_b, c / 4) >> c % 4 * 8);
        __syncthreads();
        const Kind of_row[2] = {of_rows[in_tile], of_rows[in_tile + 8]};
        #pragma unroll
        for (int i = 0; i < COLS / 2; ++i) {
            const Kind of_col = of_cols[COLS * rank + i / 4 * 8 + thread % 4 * 2 + i % 2];
            float size = i / 4 * 8 + i % 2 < cols ? fabsf(sum[i]) : INFINITY;
            again[i / 2 % 2] |= !(size >= of_row[i / 2 % 2].least * of_col.most &&
                                  size >= of_col.least * of_row[i / 2 % 2].most);
        }
    }
    for (int n = 0; n < 2; ++n)
        if (again[n] && row + in_tile + 8 * n < M)
            atomicOr(&marked[(in_tile + 8 * n) / 32], 1u << (in_tile + 8 * n) % 32);
    bool any = __syncthreads_or(again[0] | again[1]);
    for (int n = 0; n < 2; ++n)
        again[n] = marked[(in_tile + 8 * n) / 32] >> (in_tile + 8 * n) % 32 & 1;
    #pragma unroll
    for (int i = 0; i < COLS / 2; i += 2)
        if (!again[i / 2 % 2])
            store(row + in_tile + i % 4 * 4, col + i / 4 * 8 + thread % 4 * 2, sum[i], sum[i + 1]);
    if (!any)
        return;
    // endregion

    // region: again
    // The marked rows, AGAIN at a time: each warp has blocks of k and copies its part of the rows,
    // k by k; each lane has every 32nd column.
    __shared__ short rows[BM];
    int n = 0;
    for (int word = 0; word < BM / 32; ++word) {
        if (thread / 32 == word && marked[word] >> thread % 32 & 1)
            rows[n + __popc(marked[word] & (1u << thread % 32) - 1)] = thread;
        n += __popc(marked[word]);
    }
    __syncthreads();
    float* of_warps = (float*)stages;
    float(*of_k)[AGAIN + 4] = (float(*)[AGAIN + 4])of_warps + thread / 32 * BLOCK;
    for (int first = 0; first < n; first += AGAIN) {
        float x[AGAIN][COLS / 32] = {}, a[AGAIN][BLOCK / 32];
        auto load = [&](int start) {  // beyond the edges, the last row and k
            #pragma unroll
            for (int i = 0; i < AGAIN * BLOCK / 32; ++i)
                a[i % AGAIN][i / AGAIN] = A_AT(row + rows[min(first + i % AGAIN, n - 1)],
                                               min(start + i / AGAIN * 32 + thread % 32, K - 1));
        };
        if (K > 0)
            load(thread / 32 * BLOCK);
        for (int start = thread / 32 * BLOCK; start < K; start += THREADS / 32 * BLOCK) {
            __syncwarp();
            #pragma unroll
            for (int i = 0; i < AGAIN * BLOCK / 32; ++i)
                of_k[i / AGAIN * 32 + thread % 32][i % AGAIN] = a[i % AGAIN][i / AGAIN];
            __syncwarp();
            load(start + THREADS / 32 * BLOCK);
            #pragma unroll 16
            for (int k = 0; k < min(BLOCK, K - start); ++k) {
                float b[COLS / 32];  // beyond the edge, the last column
                for (int c = 0; c < COLS / 32; ++c)
                    b[c] = B_AT(start + k, min(col + thread % 32 + 32 * c, N - 1));
                #pragma unroll
                for (int r = 0; r < AGAIN; ++r)
                    for (int c = 0; c < COLS / 32; ++c)
                        x[r][c] += of_k[k][r] * b[c];
            }
        }
        __syncthreads();
        for (int r = 0; r < AGAIN; ++r)
            for (int c = 0; c < COLS / 32; ++c)
                of_warps[(thread / 32 * AGAIN + r) * COLS + thread % 32 + 32 * c] = x[r][c];
        __syncthreads();
        for (int i = 2 * thread; i < min(AGAIN, n - first) * COLS; i += 2 * THREADS) {
            float2 all = {0, 0};
            for (int warp = 0; warp < THREADS / 32; ++warp) {
                all.x += of_warps[warp * AGAIN * COLS + i];
                all.y += of_warps[warp * AGAIN * COLS + i + 1];
            }
            store(row + rows[first + i / COLS], col + i % COLS, all.x, all.y);
        }
        __syncthreads();
    }
    // endregion
}
