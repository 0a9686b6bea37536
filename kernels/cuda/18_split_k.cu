// Split-K: few tiles and a long K
//
// block: BM // TM * (BN // TN) * SLICES
// compute capability: 8.0

#ifndef BM
#define BM 64
#endif
#ifndef BN
#define BN 64
#endif
#ifndef BK
#define BK 16
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
#define TN 8
#endif
#ifndef BLOCKS
#define BLOCKS 1
#endif
#ifndef WM
#define WM 64
#endif
#ifndef WN
#define WN 32
#endif
#ifndef SPLITS
#define SPLITS 1
#endif
#ifndef CLUSTER
#define CLUSTER 1
#endif
#ifndef SLICES
#define SLICES 1
#endif
#ifndef TRANS_A
#define TRANS_A 0
#endif
#ifndef TRANS_B
#define TRANS_B 0
#endif

#define GROUP_THREADS (BM / TM * (BN / TN))
#define THREADS (GROUP_THREADS * SLICES)
#define LANES_N (WN / TN)  // lanes of a warp side by side
#define FLOAT4(x) (*(float4*)&(x))
#define PITCH_A (BM + PAD)
#define PITCH_B (BN + PAD)
#define STAGE (BK * (PITCH_A + PITCH_B))

// region: places
#define ROW(i) (row + (i) / 4 * (WM / TM * 4) + (i) % 4)
#define COL(j) (col + (j) / 4 * (WN / TN * 4) + (j) % 4)
// endregion

static_assert(BM % WM == 0 && BN % WN == 0, "warps divide the tile evenly");
static_assert(WM % TM == 0 && WN % TN == 0, "threads divide the tile evenly");
static_assert(WM / TM * LANES_N == 32, "a warp has 32 lanes");
static_assert(WM / TM % 2 == 0, "quads have two rows");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert(BK % SLICES == 0 && SPLITS % CLUSTER == 0, "parts");

// Starts a copy of so many floats from global to shared memory, the first n of which exist.
template <int FLOATS> __device__ void copy_async(float* to, const float* from, int n)
{
    int bytes = n <= 0 ? 0 : n >= FLOATS ? 4 * FLOATS : 4 * n;
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::
                 "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "n"(4 * FLOATS),
                 "r"(bytes) : "memory");
}

// Whether rows of this many elements, the first one at p, all start on 16 bytes.
__device__ bool aligned(const float* p, int width)
{
    return width % 4 == 0 && (size_t)p % 16 == 0;
}

// A tile of BK x WIDTH into shared memory, of which `depth` x `width` exist; element (k, w) lies at
// from[k * ld + w] or, TRANSPOSED, at from[w * ld + k].
template <int WIDTH, bool TRANSPOSED>
__device__ void copy_tile(float* to, const float* from, int ld, int depth, int width, bool wide)
{
    constexpr int PITCH = WIDTH + PAD;
    if (TRANSPOSED) {
        constexpr int ROWS = THREADS / 8;
        int k = threadIdx.x % 8, w = threadIdx.x / 8;
        to += k * PITCH + w;
        from += w * ld + k;
        #pragma unroll
        for (int j = 0; j < BK; j += 8)
            #pragma unroll
            for (int i = 0; i < WIDTH; i += ROWS)
                if (WIDTH % ROWS == 0 || w + i < WIDTH)
                    copy_async<1>(to + j * PITCH + i, from + i * ld + j,
                                  j < depth - k && i < width - w);
    } else if (wide) {
        constexpr int ROWS = 4 * THREADS / WIDTH;
        int k = 4 * threadIdx.x / WIDTH, w = 4 * threadIdx.x % WIDTH;
        to += k * PITCH + w;
        from += k * ld + w;
        #pragma unroll
        for (int i = 0; i < BK; i += ROWS)
            if (BK % ROWS == 0 || k + i < BK)
                copy_async<4>(to + i * PITCH, from + i * ld, i < depth - k ? width - w : 0);
    } else {
        constexpr int LANES = THREADS < WIDTH ? THREADS : WIDTH;
        constexpr int ROWS = THREADS / LANES;
        int k = threadIdx.x / LANES, w = threadIdx.x % LANES;
        to += k * PITCH + w;
        from += k * ld + w;
        #pragma unroll
        for (int i = 0; i < BK; i += ROWS)
            #pragma unroll
            for (int j = 0; j < WIDTH; j += LANES)
                if (BK % ROWS == 0 || k + i < BK)
                    copy_async<1>(to + i * PITCH + j, from + i * ld + j,
                                  i < depth - k && j < width - w);
    }
}

#if CLUSTER > 1
__device__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}
// Four floats of the shared memory of another block of the cluster.
__device__ float4 remote4(const float* p, int rank)
{
    unsigned there;
    float4 x;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there)
                 : "r"((unsigned)__cvta_generic_to_shared(p)), "r"(rank));
    asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w) : "r"(there) : "memory");
    return x;
}
#else
__device__ void cluster_sync() { __syncthreads(); }
__device__ float4 remote4(const float* p, int rank) { return *(const float4*)p; }
#endif

__device__ float4 operator+(float4 a, float4 b)
{
    return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

// C at `c` becomes alpha x + beta C, of which n elements exist.
__device__ void put(float* c, float4 x, int n, float alpha, float beta, bool wide)
{
    if (n >= 4 && wide) {
        float4 old = {};
        if (beta != 0.0f)
            old = FLOAT4(*c);
        FLOAT4(*c) = {alpha * x.x + beta * old.x, alpha * x.y + beta * old.y,
                      alpha * x.z + beta * old.z, alpha * x.w + beta * old.w};
    } else {
        float xs[4] = {x.x, x.y, x.z, x.w};
        #pragma unroll
        for (int i = 0; i < 4; ++i)
            if (i < n)
                c[i] = alpha * xs[i] + (beta != 0.0f ? beta * c[i] : 0.0f);
    }
}

#if CLUSTER > 1
#define IN_CLUSTERS __cluster_dims__(1, 1, CLUSTER)
#else
#define IN_CLUSTERS
#endif
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) IN_CLUSTERS
sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
      int lda, int ldb, int ldc, float* workspace)
{
    extern __shared__ __align__(16) float shared[];
    int first_row = blockIdx.y * BM, first_col = blockIdx.x * BN;
    int rows = M - first_row, cols = N - first_col;
    int steps = (K + BK - 1) / BK;
    int split = blockIdx.z;
    int begin = (int)((long long)steps * split / SPLITS) * BK;
    int end = min(K, (int)((long long)steps * (split + 1) / SPLITS) * BK);
    bool wide_a = aligned(A, lda), wide_b = aligned(B, ldb), wide_c = aligned(C, ldc);
    A += TRANS_A ? begin * lda + first_row : first_row * lda + begin;
    B += TRANS_B ? first_col * ldb + begin : begin * ldb + first_col;

    int thread = threadIdx.x % GROUP_THREADS, slice = threadIdx.x / GROUP_THREADS;
    int warp = thread / 32;
    int lane = thread % 32;
    int lane_row = lane / (2 * LANES_N) * 2 + lane % 2;
    int lane_col = lane / 2 % LANES_N;
    int row = warp / (BN / WN) * WM + lane_row * 4;
    int col = warp % (BN / WN) * WN + lane_col * 4;

    auto copy = [&](int k0, int stage) {
        if (k0 < end) {
            float* to = shared + stage * STAGE;
            copy_tile<BM, !TRANS_A>(to, A, lda, end - k0, rows, wide_a);
            copy_tile<BN, TRANS_B>(to + BK * PITCH_A, B, ldb, end - k0, cols, wide_b);
            A += TRANS_A ? BK * lda : BK;
            B += TRANS_B ? BK : BK * ldb;
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };

    float sum[TM][TN] = {};
    for (int stage = 0; stage < STAGES - 1; ++stage)
        copy(begin + stage * BK, stage);
    int now = 0, next = STAGES - 1;
    for (int k0 = begin; k0 < end; k0 += BK) {
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
        __syncthreads();
        copy(k0 + (STAGES - 1) * BK, next);
        const float* tile_a = shared + now * STAGE + slice * (BK / SLICES) * PITCH_A;
        const float* tile_b = shared + now * STAGE + BK * PITCH_A + slice * (BK / SLICES) * PITCH_B;
        #pragma unroll
        for (int k = 0; k < BK / SLICES; ++k) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; i += 4)
                FLOAT4(a[i]) = FLOAT4(tile_a[k * PITCH_A + ROW(i)]);
            for (int j = 0; j < TN; j += 4)
                FLOAT4(b[j]) = FLOAT4(tile_b[k * PITCH_B + COL(j)]);
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j)
                    sum[i][j] += a[i] * b[j];
        }
        next = now;
        now = now == STAGES - 1 ? 0 : now + 1;
    }

    int pitch = ldc;
    if (SPLITS > CLUSTER) {
        pitch = (N + 3) / 4 * 4;
        C = workspace + split / CLUSTER * M * pitch;
        alpha = 1.0f;
        beta = 0.0f;
        wide_c = true;
    }
    auto store = [&](int r, int c, float4 x) {
        if (r < rows)
            put(C + (first_row + r) * pitch + first_col + c, x,
                SPLITS > CLUSTER && cols > c ? 4 : cols - c, alpha, beta, wide_c);
    };
    if (CLUSTER * SLICES == 1) {
        #pragma unroll
        for (int i = 0; i < TM; ++i)
            #pragma unroll
            for (int j = 0; j < TN; j += 4)
                store(ROW(i), COL(j), FLOAT4(sum[i][j]));
    } else {
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < TM; ++i)
            #pragma unroll
            for (int j = 0; j < TN; j += 4)
                FLOAT4(shared[(slice * BM + ROW(i)) * BN + COL(j)]) = FLOAT4(sum[i][j]);
        cluster_sync();
        int rank = split % CLUSTER;
        for (int e = 4 * (threadIdx.x + rank * THREADS); e < BM * BN; e += 4 * THREADS * CLUSTER) {
            float4 x = {};
            #pragma unroll
            for (int r = 0; r < CLUSTER; ++r)
                #pragma unroll
                for (int s = 0; s < SLICES; ++s)
                    x = x + remote4(shared + s * BM * BN + e, r);
            store(e / BN, e % BN, x);
        }
        if (CLUSTER > 1)
            cluster_sync();
    }
}

#define PARTS (SPLITS / CLUSTER)

extern "C" __global__ void __launch_bounds__(128)
reduce(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
       int lda, int ldb, int ldc, float* workspace)
{
    int pitch = (N + 3) / 4 * 4;
    int i = 4 * (blockIdx.x * 128 + threadIdx.x);
    if (i >= M * pitch)
        return;
    float4 x = {};
    #pragma unroll 16
    for (int part = 0; part < PARTS; ++part)
        x = x + FLOAT4(workspace[part * M * pitch + i]);
    put(C + i / pitch * ldc + i % pitch, x, N - i % pitch, alpha, beta, aligned(C, ldc));
}
