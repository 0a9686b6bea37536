// Asynchronous copies: from global to shared memory, past the registers
//
// A cp.async names a place in shared memory and one in global memory, and the thread goes on. What
// is under way holds no register, so more of it can be: of STAGES pairs of tiles one is read
// while the others fill. Copies of 4 bytes may go anywhere, so those of A transpose it on its way.
// A thread waits for its own copies, the barrier for those of all; it is the only one of a tile.
// Behind the last tile nothing is read: such a copy stores zeros.
// Fragments are fetched one k ahead, into a second set of registers, across the barrier too.
// This changes 14, whose tiles are whole; guards come back with the next step.
// Look at the registers, at the shared stores that are gone, and at how many tiles are under way.
//
// block: BM // TM * (BN // TN)
// requires: M % BM == 0
// requires: N % BN == 0
// requires: K % BK == 0
// alignment: 16
// compute capability: 8.0
// ptxas: -O1
// variant: TN=8 WM=32

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 128
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
#define BLOCKS 2
#endif
#ifndef WM
#define WM 64
#endif
#ifndef WN
#define WN 64
#endif

#define THREADS (BM / TM * (BN / TN))
#define COPY_A (THREADS / BK)    // rows of A that the block copies at a time
#define COPY_B (4 * THREADS / BN)  // and of B
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
static_assert(BK % 4 == 0 && TM % 4 == 0 && TN % 4 == 0, "float4 lie on 16 bytes");
static_assert(PAD >= 0 && PAD % 4 == 0, "so do the rows of tile_a");
static_assert(THREADS > 0 && COPY_A * BK == THREADS && COPY_B * BN == 4 * THREADS &&
              BM % COPY_A == 0 && BK % COPY_B == 0, "every thread copies as much");
static_assert(BLOCKS > 0, "an SM holds a block at least");
static_assert(STAGES > 1, "one stage is filled while another is read");

// region: copy_async
// Starts to copy so many bytes, or as many zeros, to shared memory, and does not wait for them.
template <int BYTES> __device__ void copy_async(float* to, const float* from, bool exists)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::
                 "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "n"(BYTES),
                 "r"(exists ? BYTES : 0) : "memory");
}
// endregion

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C)
{
    // region: tiles
    __shared__ __align__(16) float tile_a[STAGES][BK][BM + PAD];
    __shared__ __align__(16) float tile_b[STAGES][BK][BN];
    // endregion
    static_assert(sizeof(tile_a) + sizeof(tile_b) <= 48 * 1024, "a block may share 48 KiB");

    // region: mapping
    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * N + blockIdx.x * BN;
    int thread = threadIdx.x;
    int warp = thread / 32;
    int lane = thread % 32;
    int lane_row = lane / (2 * LANES_N) * 2 + lane % 2;
    int lane_col = lane / 2 % LANES_N;
    int row = warp / (BN / WN) * WM + lane_row * 4;
    int col = warp % (BN / WN) * WN + lane_col * 4;
    int a_row = thread / BK, a_k = thread % BK;            // where it copies from A
    int b_k = 4 * thread / BN, b_col = 4 * thread % BN;    // and from B
    // endregion

    // region: copy
    unsigned to = 0;  // the stage that is filled next
    auto copy = [&](int k0) {  // starts to copy the thread's part of the tiles at k0, if any
        for (int i = 0; i < BM; i += COPY_A)
            copy_async<4>(&tile_a[to][a_k][a_row + i], &A[(a_row + i) * K + a_k], k0 < K);
        for (int i = 0; i < BK; i += COPY_B)
            copy_async<16>(&tile_b[to][b_k + i][b_col], &B[(b_k + i) * N + b_col], k0 < K);
        A += BK;
        B += BK * N;
        asm volatile("cp.async.commit_group;" ::: "memory");
        to = (to + 1) % STAGES;
    };
    // endregion

    // region: fetch
    auto wait = [&]() {  // until the oldest of STAGES - 1 groups has landed, for all threads
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
        __syncthreads();
    };
    float a[2][TM], b[2][TN];
    auto fetch = [&](unsigned stage, int k) {  // what the next outer product multiplies
        for (int i = 0; i < TM; i += 4)
            FLOAT4(a[k % 2][i]) = FLOAT4(tile_a[stage][k][ROW(i)]);
        for (int j = 0; j < TN; j += 4)
            FLOAT4(b[k % 2][j]) = FLOAT4(tile_b[stage][k][COL(j)]);
    };
    // endregion

    float sum[TM][TN] = {};
    // region: loop
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
                for (int j = 0; j < TN; ++j)
                    sum[i][j] += a[k % 2][i] * b[k % 2][j];
        }
        // endregion
    }
    asm volatile("cp.async.wait_all;" ::: "memory");  // none may land when the block is gone
    // endregion

    // region: store
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; j += 4) {
            float4* c = &FLOAT4(C[ROW(i) * N + COL(j)]);
            float4 old = {};
            if (beta != 0.0f)
                old = *c;
            *c = {alpha * sum[i][j] + beta * old.x, alpha * sum[i][j + 1] + beta * old.y,
                  alpha * sum[i][j + 2] + beta * old.z, alpha * sum[i][j + 3] + beta * old.w};
        }
    // endregion
}
