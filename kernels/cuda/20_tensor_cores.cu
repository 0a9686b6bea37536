// Tensor cores: a float32 in three parts of BF16
//
// A tensor core multiplies numbers of few bits, 8 for BF16. Three such numbers hold the 24 bits of
// a float32: the number rounded to BF16, what that leaves rounded again, and the rest. The product
// of two numbers is then nine products, of which a float32 does not notice the three smallest. The
// first launch, `pack`, splits A and B and lays tiles of the parts down as they will lie in shared
// memory; the second copies whole tiles and multiplies six pairs of parts.
// Tensor cores cut their sums where an FMA rounds. So they sum CHAIN products of each pair, the
// smallest pairs first, and ordinary additions take it from there; after FOLD values of k, these
// sums go to totals, and begin anew.
// Rows and columns with a number that its parts do not hold, rows with a sum that is not finite,
// and all of C if K is below LEAST_K are computed by FMAs.
// Look at the errors: below cuBLAS's on dense matrices, above where few products decide a sum.
// KIND=1 PARTS=2 has two TF32 numbers and three products, KIND=2 two of FP16, a scale for each
// tile; ALL=1 keeps all products, FOLD=0 has no totals, CHAIN=0 lets tensor cores sum all of K.
// tensor cores: yes
// launch: pack(grid=((M + BM - 1) // BM + (N + BN - 1) // BN) * ((K + BK - 1) // BK), block=128, when=K >= LEAST_K)
// launch: sgemm(grid=((M + BM - 1) // BM) * ((N + BN - 1) // BN), block=BM // WM * (BN // WN) * 32, shared=max(STAGES * PARTS * BK * (2 + 2 * (KIND == 1)) * (BM + BN) + 4 * BM * BN * (FOLD > 0), 4 * BM * BN))
// workspace: ((K + BK - 1) // BK) * (((M + BM - 1) // BM) * (PARTS * BK * (2 + 2 * (KIND == 1)) * BM + 128) + ((N + BN - 1) // BN) * (PARTS * BK * (2 + 2 * (KIND == 1)) * BN + 128))
// arguments: lda ldb ldc workspace
// compute capability: 8.0
// ptxas: -O1
// variant: FOLD=0
// variant: KIND=1 PARTS=2 FOLD=0

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK
#define BK 16
#endif
#ifndef WM
#define WM 64
#endif
#ifndef WN
#define WN 64
#endif
#ifndef STRIP
#define STRIP 32
#endif
#ifndef STAGES
#define STAGES 2
#endif
#ifndef BLOCKS
#define BLOCKS 2
#endif
#ifndef GROUP
#define GROUP 16
#endif
#ifndef KIND
#define KIND 0
#endif
#ifndef PARTS
#define PARTS 3
#endif
#ifndef ALL
#define ALL 0
#endif
#ifndef CHAIN
#define CHAIN 16
#endif
#ifndef FOLD
#define FOLD 512
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

#define BF16 0
#define TF32 1
#define FP16 2
#define PER_UNIT (KIND == TF32 ? 4 : 8)  // numbers in 16 bytes, the unit of copies and of ldmatrix
#define UNITS (BK / PER_UNIT)            // of a row of a tile
#define ORDERS (ALL ? 2 * PARTS - 1 : PARTS)  // parts p of A and q of B meet if p + q is less
#define LOST (KIND == BF16 ? 0 : KIND == TF32 ? 0x1p-22f : 0x1p-11f)  // the share parts may lose
#define ROW(i, e) (row + 16 * (i) + (e) / 2 * 8 + lane / 4)  // in the tile, of sum[i][j][e]
#define COL(j, e) (col + 8 * (j) + lane % 4 * 2 + (e) % 2)
#define THREADS (BM / WM * (BN / WN) * 32)
#define PACKERS 128  // threads of a block of `pack`
#define FLOAT4(x) (*(float4*)&(x))
#define ARGUMENTS                                                                         \
    int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C, \
        int lda, int ldb, int ldc, float *workspace

static_assert(BM % WM == 0 && BN % WN == 0, "warps divide the tile evenly");
static_assert(WM % 16 == 0 && STRIP > 0 && STRIP % 16 == 0 && WN % STRIP == 0,
              "a warp takes 16 rows at a time, and strips of 16 columns or a multiple");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert(BM % 32 == 0 && BN % 32 == 0 && BM <= 512 && BN <= 512,
              "a word has bits for 32 rows");
static_assert(BK % (2 * PER_UNIT) == 0, "mma takes two units along k");
static_assert(CHAIN == 0 || CHAIN > 0 && CHAIN % (2 * PER_UNIT) == 0 && BK % CHAIN == 0,
              "chains divide the tile evenly");
static_assert(FOLD >= 0 && FOLD % BK == 0, "so do totals");
static_assert(BLOCKS > 0, "an SM holds a block at least");
static_assert(STAGES > 1, "one stage is filled while another is read");
static_assert(GROUP > 0, "a group has a row of blocks at least");
static_assert((TRANS_A | TRANS_B | 1) == 1, "an operand is transposed, 1, or not, 0");
static_assert(KIND >= BF16 && KIND <= FP16, "parts are BF16, TF32 or FP16");
static_assert(PARTS > 0 && (KIND == BF16 || PARTS > 1 && LEAST_K >= 8), "parts hold a float32");
static_assert(KIND != FP16 || CHAIN, "each tile has a scale of its own");

// region: tile
// Parts of the numbers in ROWS rows of A, or columns of B, and BK along k.
template <int ROWS>
struct Units {
    uint4 unit[PARTS][UNITS][ROWS];  // of neighbours along k
    __device__ uint4& at(int part, int k, int row) { return unit[part][k][row]; }
};
template <int ROWS>
struct __align__(128) Tile {  // so that a warp copies whole lines
    Units<ROWS> units;
    unsigned unsafe[ROWS / 32];  // a bit for each row of which the parts do not hold a number
    float scale;                 // the parts times this are the numbers
};

struct Stage {  // in shared memory
    Units<BM> a;
    Units<BN> b;
};
// endregion
static_assert(sizeof(Units<BM>) % (16 * THREADS) == 0 && sizeof(Units<BN>) % (16 * THREADS) == 0,
              "every thread copies as many units");
static_assert(STAGES * sizeof(Stage) + 4 * BM * BN * (FOLD > 0) <= 227 * 1024,
              "a block may share 227 KiB");

// region: split
// Takes the next part off two numbers (of TF32: off one) and returns it.
__device__ unsigned part(float* x)
{
    unsigned bits;
    if (KIND == BF16) {
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(x[1]), "f"(x[0]));
        x[0] -= __uint_as_float(bits << 16);
        x[1] -= __uint_as_float(bits & 0xffff0000);
    } else if (KIND == TF32) {
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x[0]));
        x[0] -= __uint_as_float(bits);
    } else {
        float low, high;
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(x[1]), "f"(x[0]));
        asm("{.reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h;}"
            : "=f"(low), "=f"(high) : "r"(bits));
        x[0] -= low;
        x[1] -= high;
    }
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
// Packs what begins at X, of which `rows` rows and `depth` numbers along k exist.
template <int ROWS, bool ALONG_K>
__device__ void pack_tile(const float* X, int ld, int rows, int depth, Tile<ROWS>& tile)
{
    constexpr int EACH = ROWS * UNITS / PACKERS;  // units of a thread
    static_assert(EACH * PACKERS == ROWS * UNITS, "packers divide the tile evenly");
    __shared__ unsigned unsafe[ROWS / 32];
    __shared__ unsigned largest;  // the bits of a float: those of larger numbers are larger
    int thread = threadIdx.x;
    bool aligned = ld % 4 == 0 && (size_t)X % 16 == 0;
    auto row = [&](int e) { int i = thread + e * PACKERS; return ALONG_K ? i / UNITS : i % ROWS; };
    auto unit = [&](int e) { int i = thread + e * PACKERS; return ALONG_K ? i % UNITS : i / ROWS; };
    if (thread < ROWS / 32)
        unsafe[thread] = 0;
    if (thread == 0)
        largest = 0;
    __syncthreads();

    float x[EACH][PER_UNIT];
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        int k = unit(e) * PER_UNIT;
        #pragma unroll
        for (int i = 0; i < PER_UNIT; i += ALONG_K ? 4 : 1)
            if (ALONG_K)
                FLOAT4(x[e][i]) = load4(&X[(size_t)row(e) * ld + k + i],
                                        row(e) < rows ? depth - k - i : 0, aligned);
            else
                x[e][i] = row(e) < rows && k + i < depth ? X[(size_t)(k + i) * ld + row(e)] : 0;
    }
    float scale = 1.0f;
    if (KIND == FP16) {  // the largest number comes to lie between 2^14 and 2^15
        for (int e = 0; e < EACH; ++e)
            for (int i = 0; i < PER_UNIT; ++i)
                if (x[e][i] - x[e][i] == 0)  // not infinite
                    atomicMax(&largest, __float_as_uint(fabsf(x[e][i])));
        __syncthreads();
        int exponent = max((int)(largest >> 23) - 127, -112);
        scale = __uint_as_float((14 - exponent + 127) << 23);
        tile.scale = __uint_as_float((exponent - 14 + 127) << 23);
    }
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        float most[PER_UNIT];
        for (int i = 0; i < PER_UNIT; ++i) {
            x[e][i] *= scale;
            most[i] = LOST * fabsf(x[e][i]);
        }
        for (int p = 0; p < PARTS; ++p) {
            unsigned word[4];
            for (int i = 0; i < 4; ++i)
                word[i] = part(&x[e][i * PER_UNIT / 4]);
            tile.units.at(p, unit(e), row(e)) = {word[0], word[1], word[2], word[3]};
        }
        bool safe = true;
        for (int i = 0; i < PER_UNIT; ++i)
            safe = safe && fabsf(x[e][i]) <= most[i];  // of what is infinite, a NaN is left
        if (!safe)
            atomicOr(&unsafe[row(e) / 32], 1u << row(e) % 32);
    }
    __syncthreads();
    if (thread < ROWS / 32)
        tile.unsafe[thread] = unsafe[thread];
}

extern "C" __global__ void __launch_bounds__(PACKERS) pack(ARGUMENTS)
{
    int depth = (K + BK - 1) / BK, tiles_m = (M + BM - 1) / BM;
    Tile<BM>* a = (Tile<BM>*)workspace;
    Tile<BN>* b = (Tile<BN>*)(a + (size_t)tiles_m * depth);
    int tile = blockIdx.x / depth, k = blockIdx.x % depth * BK;
    if (tile < tiles_m) {
        int row = tile * BM;
        pack_tile<BM, !TRANS_A>(A + (TRANS_A ? (size_t)k * lda + row : (size_t)row * lda + k), lda,
                                M - row, K - k, a[blockIdx.x]);
    } else {
        int col = (tile - tiles_m) * BN;
        pack_tile<BN, TRANS_B>(B + (TRANS_B ? (size_t)col * ldb + k : (size_t)k * ldb + col), ldb,
                               N - col, K - k, b[blockIdx.x - tiles_m * depth]);
    }
}
// endregion

// region: instructions
__device__ unsigned shared_address(const void* p) { return __cvta_generic_to_shared(p); }

__device__ void copy16(void* to, const void* from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :: "r"(shared_address(to)), "l"(from) : "memory");
}

// Four matrices of 8 x 16 bytes; lane l points at row l % 8 of matrix l / 8.
__device__ void load_matrices(unsigned* x, const uint4* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(shared_address(row)) : "memory");
}

// d += a b, 16 x 8, over two units along k
#define MMA(form)                                                                            \
    asm("mma.sync.aligned." form " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "           \
        "{%0, %1, %2, %3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                 \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
__device__ void multiply(float* d, const unsigned* a, const unsigned* b)
{
    if (KIND == BF16)
        MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
    else if (KIND == TF32)
        MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
    else
        MMA("m16n8k16.row.col.f32.f16.f16.f32");
}
// endregion

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) sgemm(ARGUMENTS)
{
    // region: mapping
    extern __shared__ Stage stage[];
    __shared__ unsigned unsafe[(BM + BN) / 32];  // bits of rows and columns
    int depth = K < LEAST_K ? 0 : (K + BK - 1) / BK;
    int tiles_m = (M + BM - 1) / BM, tiles_n = (N + BN - 1) / BN;
    int first = blockIdx.x / (GROUP * tiles_n) * GROUP;  // GROUP rows of tiles, column by column
    int height = min(GROUP, tiles_m - first);
    int tile_m = first + blockIdx.x % (GROUP * tiles_n) % height;
    int tile_n = blockIdx.x % (GROUP * tiles_n) / height;
    const Tile<BM>* a = (Tile<BM>*)workspace;
    const Tile<BN>* b = (Tile<BN>*)(a + (size_t)tiles_m * depth) + (size_t)tile_n * depth;
    a += (size_t)tile_m * depth;
    int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    int row = warp / (BN / WN) * WM, col = warp % (BN / WN) * WN;
    // endregion

    // region: copy
    auto copy = [&](int k) {  // tiles k, if there are any, to their stage
        if (k < depth) {
            Stage& to = stage[k % STAGES];
            #pragma unroll
            for (int i = 0; i < sizeof(to.a) / 16; i += THREADS)
                copy16((uint4*)&to.a + i + thread, (uint4*)&a[k].units + i + thread);
            #pragma unroll
            for (int i = 0; i < sizeof(to.b) / 16; i += THREADS)
                copy16((uint4*)&to.b + i + thread, (uint4*)&b[k].units + i + thread);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    // endregion

    // region: unsafe
    if (thread < (BM + BN) / 32)
        unsafe[thread] = K < LEAST_K ? ~0u : 0;
    __syncthreads();
    for (int i = thread; i < depth * BM / 32; i += THREADS)
        if (unsigned bits = a[i / (BM / 32)].unsafe[i % (BM / 32)])
            atomicOr(&unsafe[i % (BM / 32)], bits);
    for (int i = thread; i < depth * BN / 32; i += THREADS)
        if (unsigned bits = b[i / (BN / 32)].unsafe[i % (BN / 32)])
            atomicOr(&unsafe[BM / 32 + i % (BN / 32)], bits);
    // endregion

    // region: fold
    float sum[WM / 16][WN / 8][4] = {};
    float4* totals = (float4*)&stage[STAGES] + thread;  // the thread's own, every THREADS
    bool folds = FOLD && depth >= FOLD / BK;
    #pragma unroll
    for (int i = 0; folds && i < WM / 16 * (WN / 8); ++i)
        totals[i * THREADS] = {};
    auto fold = [&](bool last) {  // sums into the totals; at last these into the sums
        #pragma unroll
        for (int i = 0; i < WM / 16; ++i)
            #pragma unroll
            for (int j = 0; j < WN / 8; ++j) {
                float4& total = totals[(i * (WN / 8) + j) * THREADS];
                float* x = sum[i][j];
                float4 all = {x[0] + total.x, x[1] + total.y, x[2] + total.z, x[3] + total.w};
                (last ? FLOAT4(sum[i][j]) : total) = all;
                if (!last)
                    FLOAT4(sum[i][j]) = {};
            }
    };
    // endregion

    // region: loop
    for (int k = 0; k < STAGES - 1; ++k)
        copy(k);
    for (int k = 0; k < depth; ++k) {
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
        __syncthreads();
        copy(k + STAGES - 1);
        Stage& now = stage[k % STAGES];
        float scale_a = a[k].scale, scale_b = b[k].scale;

        // region: products
        constexpr int LINK = (CHAIN ? CHAIN : BK) / PER_UNIT;  // units that mma alone sums
        #pragma unroll 1
        for (int u = 0; u < UNITS; u += LINK) {
            unsigned part_a[WM / 16][PARTS][LINK / 2][4];
            #pragma unroll
            for (int i = 0; i < WM / 16; ++i)
                for (int p = 0; p < PARTS; ++p)
                    for (int s = 0; s < LINK; s += 2)
                        load_matrices(part_a[i][p][s / 2],
                                      &now.a.at(p, u + s + lane / 16,
                                                row + 16 * i + lane % 16));
            #pragma unroll
            for (int n = 0; n < WN; n += STRIP) {  // columns of the warp tile
                unsigned part_b[PARTS][LINK / 2][STRIP / 16][4];
                #pragma unroll
                for (int p = 0; p < PARTS; ++p)
                    for (int s = 0; s < LINK; s += 2)
                        for (int j = 0; j < STRIP; j += 16)
                            load_matrices(part_b[p][s / 2][j / 16],
                                          &now.b.at(p, u + s + lane / 8 % 2,
                                                    col + n + j + lane / 16 * 8 + lane % 8));
                #pragma unroll
                for (int i = 0; i < WM / 16; ++i) {
                    auto sums = &sum[i][n / 8];
                    float chain[STRIP / 8][4] = {};
                    for (int order = ORDERS - 1; order >= 0; --order)  // smallest first
                        for (int p = max(0, order - PARTS + 1); p < min(order + 1, PARTS); ++p)
                            for (int s = 0; s < LINK / 2; ++s)
                                for (int j = 0; j < STRIP / 8; ++j)
                                    multiply(CHAIN ? chain[j] : sums[j], part_a[i][p][s],
                                             &part_b[order - p][s][j / 2][j % 2 * 2]);
                    for (int j = 0; CHAIN && j < STRIP / 8; ++j)
                        for (int e = 0; e < 4; ++e)
                            sums[j][e] += KIND == FP16 ? chain[j][e] * scale_a * scale_b
                                                       : chain[j][e];
                }
            }
        }
        // endregion
        if (FOLD && (k + 1) % (FOLD / BK) == 0)
            fold(false);
    }
    if (folds)
        fold(true);
    // endregion

    // region: store
    float none = 0.0f;  // or NaN, if a sum is infinite or no number
    float* tile = (float*)stage;
    #pragma unroll
    for (int i = 0; i < WM / 16; ++i)
        #pragma unroll
        for (int j = 0; j < WN / 8; ++j)
            #pragma unroll
            for (int e = 0; e < 4; ++e)
                none += 0.0f * sum[i][j][e];
    bool any = none != 0.0f || thread < (BM + BN) / 32 && unsafe[thread];
    any = __syncthreads_or(any);
    bool whole = (tile_m + 1) * BM <= M && (tile_n + 1) * BN <= N && beta == 0.0f;
    bool pairs = !any && whole && ldc % 2 == 0 && (size_t)C % 8 == 0;
    #pragma unroll
    for (int i = 0; i < WM / 16; ++i)
        #pragma unroll
        for (int j = 0; j < WN / 8; ++j)
            #pragma unroll
            for (int e = 0; e < 4; e += 2) {
                float* c = &C[(size_t)(tile_m * BM + ROW(i, e)) * ldc + tile_n * BN + COL(j, e)];
                if (pairs)
                    *(float2*)c = {alpha * sum[i][j][e], alpha * sum[i][j][e + 1]};
                else
                    *(float2*)&tile[ROW(i, e) * BN + COL(j, e)] = {sum[i][j][e], sum[i][j][e + 1]};
            }
    if (pairs)
        return;
    // endregion

    // region: rest
    auto marked = [&](int bit) { return unsafe[bit / 32] >> bit % 32 & 1; };
    auto store = [&](int i, int j, float x) {  // of the tile
        i += tile_m * BM;
        j += tile_n * BN;
        if (i < M && j < N) {
            float* c = &C[(size_t)i * ldc + j];
            *c = alpha * x + (beta != 0.0f ? beta * *c : 0.0f);
        }
    };
    auto again = [&](int i, int j) {
        const float* a = A + (size_t)(tile_m * BM + i) * (TRANS_A ? 1 : lda);
        const float* b = B + (size_t)(tile_n * BN + j) * (TRANS_B ? ldb : 1);
        float x = 0.0f;
        if (tile_m * BM + i < M && tile_n * BN + j < N)
            #pragma unroll 16
            for (int k = 0; k < K; ++k)
                x += a[(size_t)k * (TRANS_A ? lda : 1)] * b[(size_t)k * (TRANS_B ? 1 : ldb)];
        store(i, j, x);
    };
    __syncthreads();
    for (int n = thread; any && n < BM * BN; n += THREADS)
        if (tile[n] - tile[n] != 0 && !marked(BM + n % BN))
            atomicOr(&unsafe[n / BN / 32], 1u << n / BN % 32);
    __syncthreads();
    #pragma unroll 4
    for (int n = thread; n < BM * BN; n += THREADS)
        if (!any || !marked(n / BN) && !marked(BM + n % BN))
            store(n / BN, n % BN, tile[n]);
    for (int i = 0; any && i < BM; ++i)
        for (int j = thread; marked(i) && j < BN; j += THREADS)
            again(i, j);
    for (int j = 0; any && j < BN; ++j)
        for (int i = thread; marked(BM + j) && i < BM; i += THREADS)
            if (!marked(i))
                again(i, j);
    // endregion
}
