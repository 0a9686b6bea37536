// Halves: a float32 as two numbers of FP16
//
// Two numbers of FP16 have 22 bits and two signs: nearly a float32, where BF16 takes three numbers,
// so three products do where there were six. What FP16 lacks is range. So `pack` multiplies each
// row of A and column of B by a power of two that brings its largest number to between 2^14 and
// 2^15, its scale. The second number is 2^11 times what the first one leaves, and its
// products have accumulators of their own, `low`.
// Down to 2^-27 of its row's largest a number then loses no more than 2^-23 of itself. Smaller ones
// may cost a sum 3 K 2^-21 in its scale. So `pack` notes how large a sum must be for this not to
// matter, which is 0 for a row without them and NaN for one with an infinity or NaN. Small is also
// what parts hold exactly, as second by second parts are left out, and what the scale turns into 0.
// Rows of a tile with a sum that is smaller, or not finite, are computed again with FMAs, AGAIN
// rows at a time; so is all where K is below LEAST_K.
// Look at the number of wgmma, and at the guard, which costs a comparison for each element of C.
// tensor cores: yes
// launch: pack(grid=(M + BM - 1) // BM * (BM // 8) + (N + BN - 1) // BN * (BN // 8), block=min(PACKERS, (K + 127) // 128 * 32), when=K >= LEAST_K)
// launch: sgemm(grid=(M + BM - 1) // BM * ((N + BN - 1) // BN) * SPLITS, block=2 * BM, shared=max(STAGES * 4 * BK * (BM + BN), 4 * BM * BN))
// workspace: (K + BK - 1) // BK * ((M + BM - 1) // BM * 4 * BK * BM + (N + BN - 1) // BN * 4 * BK * BN) + (M + BM - 1) // BM * 8 * BM + (N + BN - 1) // BN * 8 * BN
// arguments: lda ldb ldc workspace
// compute capability: 9.0a
// variant: SPLITS=2
// variant: TRANS_A=1 TRANS_B=1

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK
#define BK 64
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
#ifndef LEAST_K
#define LEAST_K 32
#endif
#ifndef PACKERS
#define PACKERS 1024  // threads of a block that packs, at most
#endif
#ifndef TRANS_A
#define TRANS_A 0
#endif
#ifndef TRANS_B
#define TRANS_B 0
#endif

#define PARTS 2
#define LOW 2048.0f         // a second part is so many times what the first one left
#define SMALL (1.0f / 8192) // of smaller numbers, in their scale, more than 2^-23 may be lost
#define LEAST 128.0f        // a sum of at least this bears what small numbers may lose
#define HELD 4              // eights of numbers that a thread keeps while it packs
#define AGAIN 16            // that are computed again at a time,
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
static_assert(LEAST_K >= 32, "sums of fewer products need FMAs to stay within the bound");
static_assert(PACKERS > 0 && PACKERS % 32 == 0, "whole warps pack");
static_assert(PACKERS <= 1024, "a block has 1024 threads at most");
static_assert((TRANS_A | TRANS_B | 1) == 1, "an operand is transposed, 1, or not, 0");
static_assert(SPLITS == 1 || SPLITS == 2 || SPLITS == 4,
              "a warp computes 32 columns again");

// region: tile
// Parts of the numbers in ROWS rows of A, or columns of B, and BK along k.
template <int ROWS>
struct __align__(128) Tile {
    uint4 unit[PARTS][UNITS][ROWS];  // of eight neighbours along k
};

struct Scale {      // of a row of A or a column of B
    int exponent;   // its numbers are 2^exponent times what is packed, which is their scale
    float least;    // the least sum in that scale that its small numbers do not spoil
};

struct Stage {
    Tile<BM> a;
    Tile<BN> b;
};
// endregion
static_assert(STAGES * sizeof(Stage) + 1024 <= 227 * 1024, "a block may share 227 KiB");

// region: split
// Takes the next part off two numbers and returns it; what is left grows by LOW.
__device__ unsigned part(float* x)
{
    unsigned bits;
    float first, second;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(x[1]), "f"(x[0]));
    asm("{\n\t.reg .b16 lo, hi;\n\t"
        "mov.b32 {lo, hi}, %2;\n\t"
        "cvt.f32.f16 %0, lo;\n\t"
        "cvt.f32.f16 %1, hi;\n\t}"
        : "=f"(first), "=f"(second) : "r"(bits));
    x[0] = (x[0] - first) * LOW;
    x[1] = (x[1] - second) * LOW;
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
// Packs eight rows of X from `first` on, of `rows` that exist, with all their K numbers: a thread
// has eight of a row at a time. It keeps the first HELD eights, and reads others again.
template <int ROWS, bool ALONG_K>
__device__ void pack_rows(const float* X, int ld, int rows, int K, Tile<ROWS>* tiles,
                          Scale* scales, int first)
{
    __shared__ float largest[PACKERS / 32][8];
    __shared__ int losses[8];
    int thread = threadIdx.x, step = blockDim.x / 8, depth = (K + BK - 1) / BK;
    int row = first + thread % 8, start = thread / 8;
    bool aligned = ld % 4 == 0 && (size_t)X % 16 == 0;
    float x[HELD][8], most = 0;
    auto load = [&](float (&x)[8], int unit) {
        int n = row < rows ? K - 8 * unit : 0;  // that exist
        #pragma unroll
        for (int i = 0; i < 8; i += ALONG_K ? 4 : 1)
            if (ALONG_K)
                FLOAT4(x[i]) = load4(&X[(size_t)row * ld + 8 * unit + i], n - i, aligned);
            else
                x[i] = i < n ? X[(size_t)(8 * unit + i) * ld + row] : 0;
    };
    auto weigh = [&](float (&x)[8]) {
        for (int i = 0; i < 8; ++i)
            most = fmaxf(most, fabsf(x[i]));
    };
    #pragma unroll
    for (int n = 0; n < HELD; ++n)
        load(x[n], start + n * step);
    #pragma unroll
    for (int n = 0; n < HELD; ++n)
        weigh(x[n]);
    for (int unit = start + HELD * step; unit < depth * UNITS; unit += step) {
        float y[8];
        load(y, unit);
        weigh(y);
    }
    most = fmaxf(most, __shfl_xor_sync(~0u, most, 8));
    most = fmaxf(most, __shfl_xor_sync(~0u, most, 16));
    if (thread % 32 < 8)
        largest[thread / 32][thread % 8] = most;
    if (thread < 8)
        losses[thread] = 0;
    __syncthreads();
    for (int warp = 0; warp < blockDim.x / 32; ++warp)
        most = fmaxf(most, largest[warp][thread % 8]);
    int exponent = max((__float_as_int(most) >> 23) - 127 - 14, -127);  // 2^127 is a float32
    float factor = __int_as_float((127 - exponent) << 23);

    auto pack = [&](float (&x)[8], int unit) {
        if (unit >= depth * UNITS)
            return;
        Tile<ROWS>& tile = tiles[(size_t)(first / ROWS) * depth + unit / UNITS];
        float left[8];
        for (int i = 0; i < 8; ++i)
            left[i] = x[i] * factor;
        for (int p = 0; p < PARTS; ++p)
            tile.unit[p][unit % UNITS][row % ROWS] =
                {part(&left[0]), part(&left[2]), part(&left[4]), part(&left[6])};
        for (int i = 0; i < 8; ++i)  // NaN is what an infinity leaves; x may have become 0
            if (left[i] != left[i] || (x[i] != 0 && fabsf(x[i] * factor) < SMALL))
                atomicMax(&losses[thread % 8], left[i] == left[i] ? 1 : 2);
    };
    #pragma unroll
    for (int n = 0; n < HELD; ++n)
        pack(x[n], start + n * step);
    for (int unit = start + HELD * step; unit < depth * UNITS; unit += step) {
        float y[8];
        load(y, unit);
        pack(y, unit);
    }
    __syncthreads();
    if (thread < 8)
        scales[row] = {exponent, losses[thread] == 0 ? 0 : losses[thread] == 1 ? LEAST : nanf("")};
}

extern "C" __global__ void __launch_bounds__(PACKERS)
pack(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
     int lda, int ldb, int ldc, float* workspace)
{
    int depth = (K + BK - 1) / BK, tiles_m = (M + BM - 1) / BM, tiles_n = (N + BN - 1) / BN;
    Tile<BM>* a = (Tile<BM>*)workspace;
    Tile<BN>* b = (Tile<BN>*)(a + (size_t)tiles_m * depth);
    Scale* scales = (Scale*)(b + (size_t)tiles_n * depth);
    int row = 8 * blockIdx.x, col = row - tiles_m * BM;
    if (col < 0)
        pack_rows<BM, !TRANS_A>(A, lda, M, K, a, scales, row);
    else
        pack_rows<BN, TRANS_B>(B, ldb, N, K, b, scales + tiles_m * BM, col);
}
// endregion

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
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
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
    const Tile<BN>* b = (Tile<BN>*)(a + (size_t)tiles_m * depth);
    const Scale* of_rows = (Scale*)(b + (size_t)tiles_n * depth);
    const Scale* of_cols = of_rows + tiles_m * BM;
    a += (size_t)tile_m * depth + from;
    b += (size_t)tile_n * depth + from;
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
    float sum[BN / 2] = {}, chain[BN / 2] = {}, low[BN / 2] = {};
    #pragma unroll 1
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
        for (int p = 0; p < PARTS; ++p)  // first by second parts, then second by first ones
            #pragma unroll
            for (int unit = 0; unit < UNITS; unit += 2)
                wgmma(low, a + (p * UNITS + unit) * BM, b + ((1 - p) * UNITS + unit) * BN, true);
        #pragma unroll
        for (int unit = 0; unit < UNITS; unit += 2)  // first by first ones
            wgmma(chain, a + unit * BM, b + unit * BN, unit > 0);
        wgmma_commit();
        // endregion

        // region: refill
        if (thread == 0 && k > 0 && k - 1 + STAGES < depth) {
            wait(&empty[(k - 1) % STAGES], (k - 1) / STAGES % 2);
            fill(k - 1 + STAGES);
        }
        wgmma_wait();
        if (thread == 0 && k == 0)
            arrive(&begun);
        if (thread % 32 == 0)
            arrive(&empty[k % STAGES]);
        // endregion

        // region: sums
        #pragma unroll
        for (int i = 0; i < BN / 2; ++i)
            sum[i] += chain[i];
        // endregion
    }
    #pragma unroll
    for (int i = 0; i < BN / 2; ++i)
        sum[i] = fmaf(low[i], 1 / LOW, sum[i]);
    // endregion

    // region: exchange
    if (SPLITS > 1) {  // each block gets all parts of its columns, and sums them in the order of k
        float* received = (float*)stages;
        cluster_sync();
        #pragma unroll
        for (int i = 0; i < BN / 2; ++i) {
            int owner = i / (COLS / 2), place = rank * (COLS / 2) + i % (COLS / 2);
            store_there(&received[place * THREADS + thread], owner, sum[i]);
        }
        cluster_sync();
        #pragma unroll
        for (int i = 0; i < COLS / 2; ++i) {
            sum[i] = received[i * THREADS + thread];
            #pragma unroll
            for (int block = 1; block < SPLITS; ++block)
                sum[i] += received[(block * (COLS / 2) + i) * THREADS + thread];
        }
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
    // A sum that is too small for what its row or column lost, or not finite, marks its row.
    int in_tile = thread / 32 * 16 + thread % 32 / 4;  // the thread's other row is eight further on
    int cols = N - col - thread % 4 * 2;  // from the thread's first on that exist
    bool again[2] = {K < LEAST_K, K < LEAST_K};
    if (K >= LEAST_K) {
        const Scale of_row[2] = {of_rows[row + in_tile], of_rows[row + in_tile + 8]};
        #pragma unroll
        for (int i = 0; i < COLS / 2; ++i) {
            const Scale of_col = of_cols[col + i / 4 * 8 + thread % 4 * 2 + i % 2];
            float size = i / 4 * 8 + i % 2 < cols ? fabsf(sum[i]) : INFINITY;
            sum[i] = scalbnf(sum[i], of_row[i / 2 % 2].exponent + of_col.exponent);
            again[i / 2 % 2] |= !(size >= of_row[i / 2 % 2].least && size >= of_col.least) ||
                                sum[i] - sum[i] != 0;
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
