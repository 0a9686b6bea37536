// Skinny products: the large factor straight from memory
//
// Packing pays where each number is used in many tiles. Of a product with few columns, or few
// rows, each number of the large factor is used in one or two, and to write its parts, six bytes
// for four, and to read them again takes longer than to multiply. Here only the small factor is
// packed. Each warp copies 16 rows of the large one for itself, by cp.async, as they are in memory,
// takes the numbers apart in registers, and hands them to wgmma from there, so that no warp has to
// wait for another one's copies.
// The large factor is A, or with SWAP_AB=1, B: then C^T = B^T A^T is what is computed.
// There are few tiles and K is long. So the steps of all tiles, BK of k each, form one line, as in
// stream-K, and each of STREAM blocks has a stretch of it. `reduce` sums the parts of a tile in
// the order of k; where the parts of numbers leave something of them, where a sum is not finite,
// and where K is below LEAST_K, it computes the tile again with FMAs.
// Look at the bytes that are moved, and at the launches.
// tensor cores: yes
// launch: pack(grid=(N + SWAP_AB * (M - N) + BN - 1) // BN * (BN // 64) * ((K + BK - 1) // BK), block=8 * BK, when=K >= LEAST_K)
// launch: sgemm(grid=STREAM, block=2 * BM, shared=STAGES * (6 * BK * BN + 128 + 160 * BM))
// launch: reduce(grid=((M + SWAP_AB * (N - M) + BM - 1) // BM * ((N + SWAP_AB * (M - N) + BN - 1) // BN), BN // 8), block=2 * BM)
// workspace: (K + BK - 1) // BK * ((N + SWAP_AB * (M - N) + BN - 1) // BN) * (6 * BK * BN + 128) + ((M + SWAP_AB * (N - M) + BM - 1) // BM * ((N + SWAP_AB * (M - N) + BN - 1) // BN) + STREAM) * 8 * BM * (BN // 2 + 1)
// arguments: lda ldb ldc workspace
// compute capability: 9.0a
// variant: BN=64 SWAP_AB=1
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
#ifndef STREAM
#define STREAM 132
#endif
#ifndef SWAP_AB
#define SWAP_AB 0
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
#define UNITS (BK / 8)      // of 16 bytes in a row of a tile
#define THREADS (2 * BM)    // a warpgroup for 64 rows
#define PART (THREADS * (BN / 2 + 1))  // floats: sums for a tile, and whether to compute it again
#define FLOAT4(x) (*(float4*)&(x))

static_assert(BM == 64 || BM == 128, "a block has one warpgroup or two");
static_assert(BN == 64 || BN == 128, "a wgmma has 64 columns");
static_assert(BK == 32, "a warp copies 32 numbers along k");
static_assert(STAGES > 1, "one stage is filled while another is read");
static_assert(STREAM > 0, "a stream has a block at least");
static_assert((SWAP_AB | 1) == 1, "the factors are exchanged, 1, or not, 0");
static_assert((TRANS_A | TRANS_B | 1) == 1, "an operand is transposed, 1, or not, 0");

// region: factors
// The product is that of a large factor, rows x K, and a small one, K x cols.
struct Factor {
    const float* x;
    int pitch, side;
};
constexpr bool LARGE_ALONG_K = SWAP_AB ? TRANS_B : !TRANS_A;  // neighbours in k are so in memory
constexpr bool SMALL_ALONG_K = SWAP_AB ? !TRANS_A : TRANS_B;
#define LARGE (SWAP_AB ? Factor{B, ldb, N} : Factor{A, lda, M})
#define SMALL (SWAP_AB ? Factor{A, lda, M} : Factor{B, ldb, N})

template <bool ALONG_K> __device__ const float* place(Factor f, int i, int k)
{
    return f.x + (ALONG_K ? (size_t)i * f.pitch + k : (size_t)k * f.pitch + i);
}
// endregion

// region: tile
// Parts of the numbers in BN columns of the small factor, and BK along k.
struct __align__(128) Tile {
    uint4 unit[PARTS][UNITS][BN];  // of eight neighbours along k
    int unsafe[32];                // whether parts leave something, by rows; fills 128 bytes
};

// Numbers of the large factor for a warp: 16 rows and BK along k, in lines as they are in memory.
constexpr int LINES = LARGE_ALONG_K ? 16 : BK, LINE = LARGE_ALONG_K ? BK : 16;
constexpr int PITCH = LARGE_ALONG_K ? BK + 8 : 20;  // so that lanes read from different banks

struct Stage {
    Tile small;
    float large[THREADS / 32][LINES * PITCH];
};
// endregion
static_assert(sizeof(Stage) == 6 * BK * BN + 128 + 160 * BM, "as the header says");
static_assert(STAGES * sizeof(Stage) + 128 <= 227 * 1024, "a block may share 227 KiB");

// region: stream
__device__ int steps_of(int K) { return K < LEAST_K ? 0 : (K + BK - 1) / BK; }

// Where a block's stretch of all steps begins: the first all % STREAM blocks have one more.
__device__ long long begin(int block, long long all)
{
    return all / STREAM * block + min((long long)block, all % STREAM);
}
__device__ int block_of(long long step, long long all)
{
    long long each = all / STREAM, more = all % STREAM, rest = step - more * (each + 1);
    return rest < 0 ? step / (each + 1) : more + rest / each;
}
// endregion

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
__device__ unsigned upper_halves(float x, float y)  // of y above that of x
{
    return __byte_perm(__float_as_uint(x), __float_as_uint(y), 0x7632);
}
// endregion

// Four neighbours from p on, of which the first n exist, and zeros for the others.
__device__ float4 load4(const float* p, int n, bool aligned)
{
    if (n >= 4 && aligned)
        return FLOAT4(*p);
    return {n > 0 ? p[0] : 0, n > 1 ? p[1] : 0, n > 2 ? p[2] : 0, n > 3 ? p[3] : 0};
}

__device__ bool is_aligned(Factor f) { return f.pitch % 4 == 0 && (size_t)f.x % 16 == 0; }

// region: pack
// Packs 64 columns of a tile of the small factor; a unit a thread.
extern "C" __global__ void __launch_bounds__(8 * BK)
pack(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
     int lda, int ldb, int ldc, float* workspace)
{
    Factor small = SMALL;
    int depth = steps_of(K), groups = (small.side + BN - 1) / BN * (BN / 64);
    int block = blockIdx.x;  // blocks side by side read neighbours
    int group = SMALL_ALONG_K ? block / depth : block % groups;
    int step = SMALL_ALONG_K ? block % depth : block / groups;
    Tile& tile = ((Tile*)workspace)[(size_t)(group * 64 / BN) * depth + step];
    int thread = threadIdx.x;
    int unit = SMALL_ALONG_K ? thread % UNITS : thread / 64;
    int col = group * 64 + (SMALL_ALONG_K ? thread / UNITS : thread % 64);
    int k = step * BK + 8 * unit;
    bool aligned = is_aligned(small), exists = col < small.side;

    float x[8];
    for (int i = 0; i < 8; i += SMALL_ALONG_K ? 4 : 1) {
        const float* from = place<SMALL_ALONG_K>(small, col, k + i);
        if (SMALL_ALONG_K)
            FLOAT4(x[i]) = load4(from, exists ? K - k - i : 0, aligned);
        else
            x[i] = exists && k + i < K ? *from : 0;
    }
    for (int p = 0; p < PARTS; ++p)
        tile.unit[p][unit][col % BN] = {part(&x[0]), part(&x[2]), part(&x[4]), part(&x[6])};
    bool unsafe = false;
    for (int i = 0; i < 8; ++i)
        unsafe |= x[i] != 0;  // NaN is what an infinity leaves
    unsafe = __syncthreads_or(unsafe);
    constexpr int FLAGS = 32 * 64 / BN;  // of these 64 columns
    if (thread < FLAGS)
        tile.unsafe[group % (BN / 64) * FLAGS + thread] = unsafe;
}
// endregion

__device__ unsigned shared_address(const void* p) { return __cvta_generic_to_shared(p); }

// region: copy
// Starts a copy of W floats to shared memory, of which n exist, and zeros for the others.
template <int W> __device__ void copy_async(float* to, const float* from, int n)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::
                 "r"(shared_address(to)), "l"(from), "n"(4 * W), "r"(4 * max(0, min(n, W)))
                 : "memory");
}
template <int W> __device__ void copy_async(float* to, const float* from)  // all exist
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::
                 "r"(shared_address(to)), "l"(from), "n"(4 * W) : "memory");
}

// Numbers between the 16 bytes in which a line begins and the line, if its matrix begins on 16.
__device__ int shift(int line, Factor large) { return line * large.pitch & 3; }

// A warp's copies of its 16 rows of the large factor, from `row` on, and BK along k. Each line is
// copied from the 16 bytes on in which it begins (WIDE), to where lines of the warp have room for it.
template <bool WIDE, bool WHOLE>
__device__ void copy_rows(float* to, Factor large, int row, int k, int lines, int length)
{
    constexpr int W = WIDE ? 4 : 1, AT_ONCE = 32 * W / LINE;  // lines
    int lane = threadIdx.x % 32, line = lane / (LINE / W), x = lane % (LINE / W) * W;
    const float* corner = place<LARGE_ALONG_K>(large, row, k);
    auto copy = [&](int line, int x, int before) {
        const float* from = corner + (size_t)line * large.pitch + x - before;
        if (WHOLE)
            copy_async<W>(to + line * PITCH + x, from);
        else
            copy_async<W>(to + line * PITCH + x, from, line < lines ? length + before - x : 0);
    };
    int before = WIDE ? shift(line, large) : 0;  // as for every fourth line
    #pragma unroll(WHOLE ? LINES / AT_ONCE : 1)
    for (int i = 0; i < LINES; i += AT_ONCE)
        copy(line + i, x, before);
    if (WIDE && large.pitch % 4 && lane < LINES)
        copy(lane, LINE, shift(lane, large));
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ void wait_groups()  // until at most N are under way
{
    asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory");
}
// endregion

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

// d = a b, and + d if it is to be added: 64 x 64, over 16 k; a is what a thread has of it
__device__ void wgmma(float (&d)[32], const unsigned (&a)[4], unsigned long long b, bool add)
{
    asm volatile(
        "{\n\t.reg .pred add;\n\tsetp.ne.b32 add, %37, 0;\n\t"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "{%32, %33, %34, %35}, %36, add, 1, 1, 0;\n\t}"
        : SIXTEEN(d, 0), SIXTEEN(d, 16)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)add));
}
// endregion

extern "C" __global__ void __launch_bounds__(THREADS, 1)
sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
      int lda, int ldb, int ldc, float* workspace)
{
    // region: mapping
    extern __shared__ Stage stages[];
    __shared__ mbarrier full[STAGES], empty[STAGES];
    Factor large = LARGE, small = SMALL;
    int depth = steps_of(K), tiles_n = (small.side + BN - 1) / BN;
    long long all = (long long)((large.side + BM - 1) / BM) * tiles_n * depth;
    long long first = begin(blockIdx.x, all);
    int count = begin(blockIdx.x + 1, all) - first;  // of steps
    if (count == 0)
        return;
    const Tile* packed = (Tile*)workspace;
    int thread = threadIdx.x, warp = thread / 32;
    bool wide = (size_t)large.x % 16 == 0;  // copies may be of 16 bytes
    bool even = !wide || large.pitch % 4 == 0;  // and no line needs a shift

    struct Place { int row, col, k; };  // in tiles
    auto next = [&](Place& p) {
        if (++p.k == depth) {
            p.k = 0;
            if (++p.col == tiles_n)
                p.col = 0, ++p.row;
        }
    };
    Place now = {int(first / depth / tiles_n), int(first / depth % tiles_n), int(first % depth)};
    // endregion

    // region: fill
    Place copied = now, filled = now;  // what is next
    int lane = thread % 32, line = LARGE_ALONG_K ? lane / 4 : lane % 4 * 2;
    int before = wide ? shift(line, large) : 0, more = wide ? shift(line + 1, large) - before : 0;
    int first_of_lane = line * PITCH + before + (LARGE_ALONG_K ? lane % 4 * 2 : lane / 4);
    auto copy = [&](int i) {  // a warp has its rows of step i copied to their stage
        if (i < count) {
            float* to = stages[i % STAGES].large[warp];
            int row = copied.row * BM + warp * 16, k = copied.k * BK;
            int lines = LARGE_ALONG_K ? large.side - row : K - k;  // that exist,
            int length = LARGE_ALONG_K ? K - k : large.side - row;  // and of how many numbers
            if (wide && lines >= LINES && length >= LINE + 4)
                copy_rows<true, true>(to, large, row, k, lines, length);
            else if (wide)
                copy_rows<true, false>(to, large, row, k, lines, length);
            else
                copy_rows<false, false>(to, large, row, k, lines, length);
            next(copied);
        }
        commit();
    };
    auto fill = [&](int i) {  // has the small factor's tile of step i copied to its stage
        arrive_expect(&full[i % STAGES], sizeof(Tile));
        bulk_copy(&stages[i % STAGES].small, &packed[filled.col * depth + filled.k], sizeof(Tile),
                  &full[i % STAGES]);
        next(filled);
    };
    if (thread == 0) {
        for (int i = 0; i < STAGES; ++i) {
            init(&full[i], 1);
            init(&empty[i], THREADS / 32);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        for (int i = 0; i < min(STAGES, count); ++i)
            fill(i);
    }
    for (int i = 0; i < STAGES; ++i)
        copy(i);
    __syncthreads();
    // endregion

    // region: loop
    float sum[BN / 64][32] = {}, chain[BN / 64][32] = {};
    unsigned rest = 0;  // not 0 if parts leave something
    for (int i = 0; i < count; ++i) {
        Stage& stage = stages[i % STAGES];

        // region: fragments
        unsigned a[BK / 16][PARTS][4];
        const float* from = stage.large[warp] + first_of_lane;
        wait_groups<STAGES - 1>();
        __syncwarp();
        float x[BK / 4][2];  // neighbours along k
        #pragma unroll
        for (int n = 0; n < BK / 4; ++n) {
            int row = n % 2 * 8, k = n / 2 * 8;
            if (LARGE_ALONG_K && even)
                *(float2*)x[n] = *(const float2*)&from[row * PITCH + k];
            else
                x[n][0] = from[LARGE_ALONG_K ? row * PITCH + k : k * PITCH + row],
                x[n][1] = from[LARGE_ALONG_K ? row * PITCH + k + 1 : (k + 1) * PITCH + row + more];
        }
        __syncwarp();
        #pragma unroll
        for (int n = 0; n < BK / 4; ++n) {
            a[n / 4][0][n % 4] = part(x[n]);
            a[n / 4][1][n % 4] = part(x[n]);
            a[n / 4][2][n % 4] = upper_halves(x[n][0], x[n][1]);  // 8 bits are left, unless unsafe
            rest |= __float_as_uint(x[n][0]) | __float_as_uint(x[n][1]);
        }
        // endregion

        // region: products
        unsigned long long b = descriptor(&stage.small.unit[0][0][0], BN);
        wait(&full[i % STAGES], i / STAGES % 2);
        wgmma_fence();
        #pragma unroll
        for (int order = PARTS - 1; order >= 0; --order)  // the smallest products first
            #pragma unroll
            for (int p = 0; p <= order; ++p)
                #pragma unroll
                for (int unit = 0; unit < UNITS; unit += 2)
                    #pragma unroll
                    for (int j = 0; j < BN / 64; ++j)
                        wgmma(chain[j], a[unit / 2][p],
                              b + ((order - p) * UNITS + unit) * BN + j * 64,
                              order < PARTS - 1 || p + unit > 0);
        wgmma_commit();
        // endregion

        // region: refill
        copy(i + STAGES);
        if (thread == 0 && i > 0 && i - 1 + STAGES < count) {
            wait(&empty[(i - 1) % STAGES], (i - 1) / STAGES % 2);
            fill(i - 1 + STAGES);
        }
        rest |= stage.small.unsafe[thread % 32];
        wgmma_wait();
        __syncwarp();
        if (thread % 32 == 0)
            arrive(&empty[i % STAGES]);
        // endregion

        // region: sums
        #pragma unroll
        for (int j = 0; j < BN / 2; ++j)
            sum[j / 32][j % 32] += chain[j / 32][j % 32];
        if (now.k + 1 == depth || i + 1 == count) {  // the last of the tile here
            float* to = (float*)(packed + (size_t)tiles_n * depth) + thread +
                        (size_t)(now.row * tiles_n + now.col + blockIdx.x) * PART;
            #pragma unroll
            for (int j = 0; j < BN / 2; ++j) {
                to[j * THREADS] = sum[j / 32][j % 32];
                sum[j / 32][j % 32] = 0;
            }
            to[BN / 2 * THREADS] = (rest & 0xffff) != 0;
            rest = 0;
        }
        next(now);
        // endregion
    }
    // endregion
}

// region: reduce
// Sums the parts of a tile and stores 8 of its columns; a thread has the elements that it had.
extern "C" __global__ void __launch_bounds__(THREADS)
reduce(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
       int lda, int ldb, int ldc, float* workspace)
{
    Factor large = LARGE, small = SMALL;
    int depth = steps_of(K), tiles_n = (small.side + BN - 1) / BN;
    long long all = (long long)((large.side + BM - 1) / BM) * tiles_n * depth;
    int tile = blockIdx.x, thread = threadIdx.x;
    const float* parts = (float*)((Tile*)workspace + (size_t)tiles_n * depth) + thread;
    int row = tile / tiles_n * BM + thread / 32 * 16 + thread % 32 / 4;
    int col = tile % tiles_n * BN + blockIdx.y * 8 + thread % 4 * 2;

    float sum[4] = {};
    bool unsafe = depth == 0;
    int last = unsafe ? 0 : block_of((tile + 1LL) * depth - 1, all);
    if (!unsafe)
        #pragma unroll 4
        for (int block = block_of((long long)tile * depth, all); block <= last; ++block) {
            const float* from = parts + (size_t)(tile + block) * PART;
            for (int j = 0; j < 4; ++j)
                sum[j] += from[(blockIdx.y * 4 + j) * THREADS];
            unsafe |= from[BN / 2 * THREADS] != 0;
        }
    for (int j = 0; j < 4; ++j)
        unsafe |= sum[j] - sum[j] != 0;  // infinite, or no number
    unsafe = __syncthreads_or(unsafe);
    for (int j = 0; j < 4; ++j) {
        int r = row + j / 2 * 8, c = col + j % 2;
        if (r >= large.side || c >= small.side)
            continue;
        if (unsafe) {
            sum[j] = 0;
            for (int k = 0; k < K; ++k)
                sum[j] += *place<LARGE_ALONG_K>(large, r, k) * *place<SMALL_ALONG_K>(small, c, k);
        }
        float* to = &C[SWAP_AB ? (size_t)c * ldc + r : (size_t)r * ldc + c];
        *to = alpha * sum[j] + (beta != 0.0f ? beta * *to : 0.0f);
    }
}
// endregion
