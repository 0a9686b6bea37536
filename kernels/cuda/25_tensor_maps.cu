// Tensor maps: the copy engine orders tiles for tensor cores
//
// `pack` of step 24 wrote its parts as tiles, each in the order that wgmma reads. Here it writes
// plain matrices, row by row, and the copy engine, TMA, makes tiles of them: a tensor map says
// where a matrix lies, which box of it a copy brings, and how 16-byte units change places on their
// way, the swizzle, which wgmma undoes. What a box has outside of the matrix is 0.
// A warpgroup of its own issues the copies. It gives registers away, setmaxnreg, to those that
// multiply. Blocks stay for several tiles, so that copies for the next one are under way while a
// tile is stored. Two blocks of a cluster may share columns: each brings one part of B for both.
// Sums are those of step 24, bit by bit, and so is the guard.
// Look at who waits for whom: `full` and `empty`, and the defines that change it.
// tensor cores: yes
// launch: pack(grid=(M + BM * CLUSTER - 1) // (BM * CLUSTER) * CLUSTER * (BM // 8) + (N + BN - 1) // BN * (BN // 8), block=PACKERS, when=K >= LEAST_K)
// launch: sgemm(grid=min(GRID, (M + BM * CLUSTER - 1) // (BM * CLUSTER) * CLUSTER * ((N + BN - 1) // BN)), block=256 + 32 * PRODUCER, shared=STAGES * 4 * BK * (BM + BN * (1 + PING_PONG)))
// arguments: lda ldb ldc workspace
// workspace: 4 * max((K + 7) // 8 * 8, 8) * (M + N) + 8 * ((M + BM * CLUSTER - 1) // (BM * CLUSTER) * CLUSTER * BM + (N + BN - 1) // BN * BN)
// tensor map: map_a(at=0, shape=(2, M, max((K + 7) // 8 * 8, 8)), box=(2, BM // (1 + PING_PONG), SWIZZLE // 2), swizzle=SWIZZLE)
// tensor map: map_b(at=4 * M * max((K + 7) // 8 * 8, 8), shape=(2, N, max((K + 7) // 8 * 8, 8)), box=(2 // CLUSTER, BN, SWIZZLE // 2), swizzle=SWIZZLE)
// compute capability: 9.0a
// variant: CLUSTER=2

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
#define STAGES 3   // for each team
#endif
#ifndef SWIZZLE
#define SWIZZLE 128  // bytes of a row of a box
#endif
#ifndef PRODUCER
#define PRODUCER 4  // warps that copy: none, or 1, or 4, which give registers away
#endif
#ifndef PING_PONG
#define PING_PONG 0  // 1: each warpgroup has half of the rows as a tile of its own
#endif
#ifndef CLUSTER
#define CLUSTER 1
#endif
#ifndef TMA_STORE
#define TMA_STORE 0
#endif
#ifndef GRID
#define GRID 132  // at most, which take tile after tile: as many as an H100 has SMs
#endif
#ifndef GROUP
#define GROUP 16
#endif
#ifndef LEAST_K
#define LEAST_K 32
#endif
#ifndef PACKERS
#define PACKERS 1024  // threads of a block that packs
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
#define BLOCK 64            // of k, a warp at a time, where rows are computed again
#define CONSUMERS 256       // threads that multiply: a warpgroup for 64 rows
#define TEAMS (1 + PING_PONG)    // of consumers, each with a tile
#define TEAM (CONSUMERS / TEAMS) // threads of one
#define ROWS (BM / TEAMS)        // of its tile
#define BOXES (2 * BK / SWIZZLE) // along k in a stage
#define FLOAT4(x) (*(float4*)&(x))
#define A_AT(i, k) A[TRANS_A ? (size_t)(k) * lda + (i) : (size_t)(i) * lda + (k)]
#define B_AT(k, j) B[TRANS_B ? (size_t)(j) * ldb + (k) : (size_t)(k) * ldb + (j)]

static_assert(BM == 128, "there are two warpgroups of consumers, each with 64 rows");
static_assert(BN == 128, "a wgmma has 128 columns");
static_assert(SWIZZLE == 32 || SWIZZLE == 64 || SWIZZLE == 128, "there are three swizzles");
static_assert(BK > 0 && BK % (SWIZZLE / 2) == 0, "a stage has whole boxes");
static_assert(STAGES > 1, "one stage is filled while another is read");
static_assert(PRODUCER == 0 || PRODUCER == 1 || PRODUCER == 4, "no warp, one, or a warpgroup");
static_assert(PING_PONG == 0 || PING_PONG == 1, "warpgroups share a tile, 0, or do not, 1");
static_assert(PRODUCER != 1 || !PING_PONG, "each team has a warp that copies for it");
static_assert(CLUSTER == 1 || CLUSTER == 2, "each block brings both parts of B, or one");
static_assert(TMA_STORE == 0 || TMA_STORE == 1, "threads store, 0, or the copy engine, 1");
static_assert(GRID > 0 && GRID % CLUSTER == 0, "clusters are whole");
static_assert(GROUP > 0 && GROUP % CLUSTER == 0, "blocks of a cluster have the same columns");
static_assert(LEAST_K >= 32, "sums of fewer products need FMAs to stay within the bound");
static_assert(PACKERS > 0 && PACKERS % 32 == 0, "whole warps pack");
static_assert(PACKERS <= 1024, "a block has 1024 threads at most");
static_assert((TRANS_A | TRANS_B | 1) == 1, "an operand is transposed, 1, or not, 0");

// region: tile
struct __align__(64) TensorMap {  // what the driver makes; opaque
    char bytes[128];
};

struct Scale {      // of a row of A or a column of B
    int exponent;   // its numbers are 2^exponent times what is packed, which is their scale
    float least;    // the least sum in that scale that its small numbers do not spoil
};

struct __align__(1024) Stage {  // rows of SWIZZLE bytes, in units of 16
    uint4 a[BOXES][PARTS][ROWS][SWIZZLE / 16];
    uint4 b[BOXES][PARTS][BN][SWIZZLE / 16];
};
// endregion

typedef unsigned long long mbarrier;

struct __align__(128) Shared {  // by a team, beside its stages
    float room[TEAM / 32][8 * BN];
    mbarrier full[STAGES], empty[STAGES];
    unsigned marked[ROWS / 32];  // rows of the tile to be computed again
    short rows[ROWS];            // which they are
};
static_assert(TEAMS * (STAGES * sizeof(Stage) + sizeof(Shared)) + 1024 <= 227 * 1024,
              "a block may share 227 KiB");

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
template <bool ALONG_K>
__device__ void pack_rows(const float* X, int ld, int rows, int K, uint4* parts, Scale* scales,
                          int first)
{
    __shared__ float largest[PACKERS / 32][8];
    __shared__ int losses[8];
    int thread = threadIdx.x, step = PACKERS / 8, units = (K + 7) / 8;
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
    for (int unit = start + HELD * step; unit < units; unit += step) {
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
    for (int warp = 0; warp < PACKERS / 32; ++warp)
        most = fmaxf(most, largest[warp][thread % 8]);
    int exponent = max((__float_as_int(most) >> 23) - 127 - 14, -127);  // 2^127 is a float32
    float factor = __int_as_float((127 - exponent) << 23);

    auto pack = [&](float (&x)[8], int unit) {
        if (unit >= units || row >= rows)
            return;
        float left[8];
        for (int i = 0; i < 8; ++i)
            left[i] = x[i] * factor;
        for (int p = 0; p < PARTS; ++p)
            parts[((size_t)p * rows + row) * units + unit] =
                {part(&left[0]), part(&left[2]), part(&left[4]), part(&left[6])};
        for (int i = 0; i < 8; ++i)  // NaN is what an infinity leaves; x may have become 0
            if (left[i] != left[i] || (x[i] != 0 && fabsf(x[i] * factor) < SMALL))
                atomicMax(&losses[thread % 8], left[i] == left[i] ? 1 : 2);
    };
    #pragma unroll
    for (int n = 0; n < HELD; ++n)
        pack(x[n], start + n * step);
    for (int unit = start + HELD * step; unit < units; unit += step) {
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
     int lda, int ldb, int ldc, float* workspace, const __grid_constant__ TensorMap map_a,
     const __grid_constant__ TensorMap map_b)
{
    int units = (K + 7) / 8, tiles_m = (M + BM * CLUSTER - 1) / (BM * CLUSTER) * CLUSTER;
    uint4 *a = (uint4*)workspace, *b = a + (size_t)PARTS * M * units;
    Scale* scales = (Scale*)(b + (size_t)PARTS * N * units);
    int row = 8 * blockIdx.x, col = row - tiles_m * BM;
    if (col < 0)
        pack_rows<!TRANS_A>(A, lda, M, K, a, scales, row);
    else
        pack_rows<TRANS_B>(B, ldb, N, K, b, scales + tiles_m * BM, col);
}
// endregion

__device__ unsigned shared_address(const void* p) { return __cvta_generic_to_shared(p); }

// region: mbarriers
__device__ void init(mbarrier* b, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :: "r"(shared_address(b)), "r"(arrivals) : "memory");
}
__device__ void arrive(mbarrier* b)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared_address(b)) : "memory");
}
__device__ void arrive_there(mbarrier* b, int rank)  // at block `rank` of the cluster
{
    asm volatile("{\n\t.reg .b32 there;\n\t"
                 "mapa.shared::cluster.u32 there, %0, %1;\n\t"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n\t}"
                 :: "r"(shared_address(b)), "r"(rank) : "memory");
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
// endregion

// region: copies
// The box of a tensor map that begins at these coordinates.
__device__ void copy_box(void* to, const TensorMap& map, int k, int row, int part, mbarrier* b)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4}], [%5];"
                 :: "r"(shared_address(to)), "l"(&map), "r"(k), "r"(row), "r"(part),
                    "r"(shared_address(b)) : "memory");
}
// The same for all blocks of the cluster: to the same place in each, and its mbarrier.
__device__ void copy_box_to_all(void* to, const TensorMap& map, int k, int row, int part,
                                mbarrier* b)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%2, %3, %4}], [%5], %6;"
                 :: "r"(shared_address(to)), "l"(&map), "r"(k), "r"(row), "r"(part),
                    "r"(shared_address(b)), "h"((short)((1 << CLUSTER) - 1)) : "memory");
}
__device__ void bulk_store(void* to, const void* from, int bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 :: "l"(to), "r"(shared_address(from)), "r"(bytes) : "memory");
}
__device__ void bulk_stored()  // what the thread stores so has been read: it may be overwritten
{
    asm volatile("cp.async.bulk.commit_group;\n\t"
                 "cp.async.bulk.wait_group.read 0;" ::: "memory");
}
// endregion

// region: wgmma
__device__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
__device__ void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }

// Where a factor lies, whose rows are swizzled: see `place`.
__device__ unsigned long long descriptor(const void* p)
{
    unsigned long long next_eight_rows = 8 * SWIZZLE / 16;
    unsigned long long swizzle = SWIZZLE == 128 ? 1 : SWIZZLE == 64 ? 2 : 3;
    return (shared_address(p) & 0x3ffff) >> 4 | next_eight_rows << 32 | swizzle << 62;
}

// What to add to it for a part and 16 k, where boxes have so many rows: in units of 16 bytes.
__device__ constexpr int place(int rows, int part, int k)
{
    return (2 * k / SWIZZLE * PARTS + part) * rows * (SWIZZLE / 16) + 2 * k % SWIZZLE / 16;
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

__device__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
                 "barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ void team_sync(int team)
{
    asm volatile("bar.sync %0, %1;" :: "r"(1 + team), "n"(TEAM) : "memory");
}

extern "C" __global__ void __launch_bounds__(CONSUMERS + 32 * PRODUCER, 1)
#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
      int lda, int ldb, int ldc, float* workspace, const __grid_constant__ TensorMap map_a,
      const __grid_constant__ TensorMap map_b)
{
    // region: mapping
    extern __shared__ Stage stages[];
    __shared__ Shared shared[TEAMS];
    __shared__ mbarrier begun;
    int depth = K < LEAST_K ? 0 : (K + BK - 1) / BK, units = (K + 7) / 8;
    int tiles_m = (M + BM * CLUSTER - 1) / (BM * CLUSTER) * CLUSTER, tiles_n = (N + BN - 1) / BN;
    int count = (tiles_m * tiles_n - blockIdx.x + gridDim.x - 1) / gridDim.x;  // tiles of the block
    bool copies = threadIdx.x >= CONSUMERS;
    int team = copies ? threadIdx.x % CONSUMERS / 32 % TEAMS : threadIdx.x / TEAM;
    int thread = threadIdx.x % TEAM, rank = blockIdx.x % CLUSTER;
    Stage* ring = &stages[team * STAGES];
    Shared& own = shared[team];
    auto corner = [&](int n) -> int2 {  // of the block's tile n: row and column
        int tile = blockIdx.x + n * gridDim.x;
        int first = tile / (GROUP * tiles_n) * GROUP;  // GROUP rows of tiles, column by column
        int height = min(GROUP, tiles_m - first), rest = tile % (GROUP * tiles_n);
        return {BM * (first + rest % height) + ROWS * team, BN * (rest / height)};
    };
    // endregion

    // region: fill
    auto fill = [&](int n) {  // has stage n copied, counted from the first tile's first
        mbarrier* full = &own.full[n % STAGES];
        Stage& to = ring[n % STAGES];
        int2 at = corner(n / depth);
        arrive_expect(full, sizeof(Stage));
        for (int box = 0; box < BOXES; ++box) {
            int k = n % depth * BK + box * (SWIZZLE / 2);
            copy_box(to.a[box], map_a, k, at.x, 0, full);
            if (CLUSTER > 1)
                copy_box_to_all(to.b[box][rank], map_b, k, at.y, rank, full);
            else
                copy_box(to.b[box], map_b, k, at.y, 0, full);
        }
    };
    // endregion

    // region: begin
    if (threadIdx.x == 0) {
        for (int t = 0; t < TEAMS; ++t)
            for (int i = 0; i < STAGES; ++i) {
                init(&shared[t].full[i], 1);
                init(&shared[t].empty[i], CLUSTER * TEAM / 32);
            }
        init(&begun, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    if (CLUSTER > 1)
        cluster_sync();
    else
        __syncthreads();
    // endregion

    // region: producer
    if (copies) {
        if (PRODUCER == 4)
            asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (threadIdx.x % 32 == 0 && threadIdx.x < CONSUMERS + 32 * TEAMS)
            for (int n = 0; n < count * depth; ++n) {
                if (n >= STAGES)
                    wait(&own.empty[n % STAGES], (n / STAGES - 1) % 2);
                fill(n);
            }
        __syncwarp();
        if (CLUSTER > 1)
            cluster_sync();
        return;
    }
    if (PRODUCER == 4)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    else if (PRODUCER == 0 && thread == 0)
        for (int n = 0; n < min(STAGES, count * depth); ++n)
            fill(n);
    // endregion

    for (int tile = 0, n = 0; tile < count; ++tile) {
        int row = corner(tile).x, col = corner(tile).y;

        // region: loop
        float sum[BN / 2] = {}, chain[BN / 2] = {}, low[BN / 2] = {};
        #pragma unroll 1
        for (int k = 0; k < depth; ++k, ++n) {
            const Stage& now = ring[n % STAGES];
            wait(&own.full[n % STAGES], n / STAGES % 2);

            // region: products
            unsigned long long a = descriptor(now.a[0][0][thread / 128 * 64]);
            unsigned long long b = descriptor(now.b);
            if (threadIdx.x >= 128 && n == 0)  // the second warpgroup
                wait(&begun, 0);
            wgmma_fence();
            #pragma unroll
            for (int p = 0; p < PARTS; ++p)  // first by second parts, then second by first ones
                #pragma unroll
                for (int i = 0; i < BK; i += 16)
                    wgmma(low, a + place(ROWS, p, i), b + place(BN, 1 - p, i), true);
            #pragma unroll
            for (int i = 0; i < BK; i += 16)  // first by first ones
                wgmma(chain, a + place(ROWS, 0, i), b + place(BN, 0, i), i > 0);
            wgmma_commit();
            // endregion

            // region: refill
            if (PRODUCER == 0 && thread == 0 && n > 0 && n - 1 + STAGES < count * depth) {
                wait(&own.empty[(n - 1) % STAGES], (n - 1) / STAGES % 2);
                fill(n - 1 + STAGES);
            }
            wgmma_wait();
            if (threadIdx.x == 0 && n == (PING_PONG ? depth / 2 : 0))
                arrive(&begun);
            if (thread % 32 == 0)
                for (int r = 0; r < CLUSTER; ++r)
                    if (CLUSTER > 1)
                        arrive_there(&own.empty[n % STAGES], r);
                    else
                        arrive(&own.empty[n % STAGES]);
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

        // region: store
        auto scaled = [&](int i, int j, float x) {
            return alpha * x + (beta != 0.0f && i < M && j < N ? beta * C[(size_t)i * ldc + j] : 0);
        };
        auto store = [&](int i, int j, float x, float y) {  // two neighbours
            float* c = &C[(size_t)i * ldc + j];
            int n = i < M ? N - j : 0;
            x = scaled(i, j, x);
            y = scaled(i, j + 1, y);
            if (n > 1 && ldc % 2 == 0 && (size_t)C % 8 == 0) {
                *(float2*)c = {x, y};
            } else {
                if (n > 0) c[0] = x;
                if (n > 1) c[1] = y;
            }
        };
        // endregion

        // region: guard
        // A sum that is too small for what its row or column lost, or not finite, marks its row.
        if (thread < ROWS / 32)
            own.marked[thread] = 0;
        team_sync(team);
        int in_tile = thread / 32 * 16 + thread % 32 / 4;  // its other row is eight further on
        int cols = N - col - thread % 4 * 2;  // from the thread's first on that exist
        bool again[2] = {K < LEAST_K, K < LEAST_K};
        if (K >= LEAST_K) {
            const Scale* of_rows = (Scale*)((uint4*)workspace + (size_t)PARTS * (M + N) * units);
            const Scale* of_cols = of_rows + tiles_m * BM + col;
            const Scale of_row[2] = {of_rows[row + in_tile], of_rows[row + in_tile + 8]};
            #pragma unroll
            for (int i = 0; i < BN / 2; ++i) {
                const Scale of_col = of_cols[i / 4 * 8 + thread % 4 * 2 + i % 2];
                float size = i / 4 * 8 + i % 2 < cols ? fabsf(sum[i]) : INFINITY;
                sum[i] = scalbnf(sum[i], of_row[i / 2 % 2].exponent + of_col.exponent);
                again[i / 2 % 2] |= !(size >= of_row[i / 2 % 2].least && size >= of_col.least) ||
                                    sum[i] - sum[i] != 0;
            }
        }
        for (int i = 0; i < 2; ++i)
            if (again[i] && row + in_tile + 8 * i < M)
                atomicOr(&own.marked[(in_tile + 8 * i) / 32], 1u << (in_tile + 8 * i) % 32);
        team_sync(team);
        auto marked = [&](int r) { return own.marked[r / 32] >> r % 32 & 1; };
        // endregion

        // region: tma_store
        if (TMA_STORE && ldc % 4 == 0 && N % 4 == 0 && (size_t)C % 16 == 0) {
            const int PITCH = 40;  // floats from row to row of a strip: 16 rows, 32 columns
            float* strip = own.room[thread / 32];
            #pragma unroll
            for (int j = 0; j < BN; j += 32) {
                #pragma unroll
                for (int i = 0; i < 16; ++i) {
                    int r = thread % 32 / 4 + i / 2 % 2 * 8, c = i / 4 * 8 + thread % 4 * 2 + i % 2;
                    strip[r * PITCH + c] =
                        scaled(row + thread / 32 * 16 + r, col + j + c, sum[j / 2 + i]);
                }
                asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
                __syncwarp();
                int r = thread / 32 * 16 + thread % 32;
                if (thread % 32 < 16 && row + r < M && col + j < N && !marked(r))
                    bulk_store(&C[(size_t)(row + r) * ldc + col + j], &strip[r % 16 * PITCH],
                               4 * min(32, N - col - j));
                bulk_stored();
                __syncwarp();
            }
        } else {
            #pragma unroll
            for (int i = 0; i < BN / 2; i += 2) {
                int r = in_tile + i % 4 * 4;
                if (!marked(r))
                    store(row + r, col + i / 4 * 8 + thread % 4 * 2, sum[i], sum[i + 1]);
            }
        }
        // endregion

        // region: again
        // The marked rows, eight at a time: each warp has blocks of k, each lane every 32nd column.
        int rows = 0;
        for (int word = 0; word < ROWS / 32; ++word) {
            unsigned bits = own.marked[word];
            if (thread / 32 == word && bits >> thread % 32 & 1)
                own.rows[rows + __popc(bits & (1u << thread % 32) - 1)] = thread;
            rows += __popc(bits);
        }
        team_sync(team);
        for (int first = 0; first < rows; first += 8) {
            float x[8][BN / 32] = {};
            for (int start = thread / 32 * BLOCK; start < K; start += TEAM / 32 * BLOCK) {
                #pragma unroll 4
                for (int k = start; k < min(start + BLOCK, K); ++k)
                    for (int c = 0; c < BN / 32; ++c) {  // beyond the edge, the last column
                        float b = B_AT(k, min(col + thread % 32 + 32 * c, N - 1));
                        for (int r = 0; r < 8; ++r) {
                            int i = row + own.rows[min(first + r, rows - 1)];
                            x[r][c] += A_AT(i, k) * b;
                        }
                    }
            }
            for (int r = 0; r < 8; ++r)
                for (int c = 0; c < BN / 32; ++c)
                    own.room[thread / 32][r * BN + thread % 32 + 32 * c] = x[r][c];
            team_sync(team);
            for (int i = 2 * thread; i < min(8, rows - first) * BN; i += 2 * TEAM) {
                float2 all = {0, 0};
                for (int warp = 0; warp < TEAM / 32; ++warp) {
                    all.x += own.room[warp][i];
                    all.y += own.room[warp][i + 1];
                }
                store(row + own.rows[first + i / BN], col + i % BN, all.x, all.y);
            }
            team_sync(team);
        }
        // endregion
    }
    if (TMA_STORE)
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    if (CLUSTER > 1)
        cluster_sync();
}
