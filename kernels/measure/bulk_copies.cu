// Step 17 with bulk copies: an engine moves whole rows, and mbarriers count their bytes
//
// For whole tiles and an A stored transposed. Each warp has one row of either tile copied. A stage
// is full once its mbarrier has counted all bytes. It may be filled again once all warps have read
// it, which the block's barrier tells, or with FREE=1 a second mbarrier, which only those wait for
// who fill it.
//
// block: BM // TM * (BN // TN)
// shared: STAGES * BK * 4 * (BM + BN)
// requires: M % BM == 0
// requires: N % BN == 0
// requires: K % BK == 0
// alignment: 16
// arguments: lda ldb ldc
// ptxas: -O1
// compute capability: 9.0

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
#ifndef TM
#define TM 8
#endif
#ifndef TN
#define TN 16
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
#ifndef TRANS_A
#define TRANS_A 1
#endif
#ifndef FREE
#define FREE 0
#endif

#define THREADS (BM / TM * (BN / TN))
#define LANES_N (WN / TN)
#define FLOAT4(x) (*(float4*)&(x))
#define ROW(i) (row + (i) / 4 * (WM / TM * 4) + (i) % 4)
#define COL(j) (col + (j) / 4 * (WN / TN * 4) + (j) % 4)

static_assert(THREADS == 32 * BK && TRANS_A == 1, "a warp has a row of either tile copied");

struct Stage {
    float a[BK][BM], b[BK][BN];
};

__device__ unsigned place(const void* p) { return __cvta_generic_to_shared(p); }

__device__ void expect(long long* barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(place(barrier)), "r"(arrivals));
}

// region: bulk
// Starts to copy N floats; the mbarrier counts their bytes.
template <int N> __device__ void copy_bulk(float* to, const float* from, long long* barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" :: "r"(place(to)), "l"(from), "n"(4 * N),
                 "r"(place(barrier)) : "memory");
}

// Until the mbarrier has left a phase of this parity.
__device__ void wait_for(long long* barrier, unsigned parity)
{
    asm volatile("{\n.reg .pred done;\nAGAIN_%=:\n"
                 "mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
                 "@!done bra AGAIN_%=;\n}" :: "r"(place(barrier)), "r"(parity) : "memory");
}
// endregion

extern "C" __global__ void __launch_bounds__(THREADS)
sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
      int lda, int ldb, int ldc)
{
    extern __shared__ __align__(16) Stage stages[];
    __shared__ long long full[STAGES], empty[STAGES];

    int block = blockIdx.y * gridDim.x + blockIdx.x;
    int first = block / (GROUP * gridDim.x) * GROUP;  // of GROUP rows of blocks
    int height = min(GROUP, gridDim.y - first);
    block -= first * gridDim.x;
    int first_row = (first + block % height) * BM, first_col = block / height * BN;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int lane_row = lane / (2 * LANES_N) * 2 + lane % 2, lane_col = lane / 2 % LANES_N;
    int row = warp / (BN / WN) * WM + lane_row * 4, col = warp % (BN / WN) * WN + lane_col * 4;
    A += (size_t)warp * lda + first_row;
    B += (size_t)warp * ldb + first_col;
    C += (size_t)first_row * ldc + first_col;

    if (threadIdx.x == 0)
        for (int stage = 0; stage < STAGES; ++stage) {
            expect(&full[stage], BK);
            expect(&empty[stage], BK);
        }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    __syncthreads();

    // region: copy
    unsigned to = 0, refilled = 1;
    auto copy = [&](int k0) {  // the warp's rows of the tiles at k0, if any
        if (lane == 0 && k0 < K) {
            if (FREE)
                wait_for(&empty[to], refilled);
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::
                         "r"(place(&full[to])), "n"(4 * (BM + BN)) : "memory");
            copy_bulk<BM>(stages[to].a[warp], A, &full[to]);
            copy_bulk<BN>(stages[to].b[warp], B, &full[to]);
        }
        A += (size_t)BK * lda;
        B += (size_t)BK * ldb;
        to = (to + 1) % STAGES;
        refilled ^= to == 0;
    };
    // endregion
    float a[2][TM], b[2][TN];
    auto fetch = [&](unsigned stage, int k) {
        for (int i = 0; i < TM; i += 4)
            FLOAT4(a[k % 2][i]) = FLOAT4(stages[stage].a[k][ROW(i)]);
        for (int j = 0; j < TN; j += 4)
            FLOAT4(b[k % 2][j]) = FLOAT4(stages[stage].b[k][COL(j)]);
    };

    float sum[TM][TN] = {};
    // region: loop
    for (int stage = 0; stage < STAGES - 1; ++stage)
        copy(stage * BK);
    if (K > 0)
        wait_for(&full[0], 0);
    fetch(0, 0);
    unsigned now = 0, parity = 0;
    for (int k0 = 0; k0 < K; k0 += BK) {
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            if (k == BK - 1) {
                __syncwarp();
                if (FREE && lane == 0)
                    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::
                                 "r"(place(&empty[now])) : "memory");
                now = (now + 1) % STAGES;
                parity ^= now == 0;
                if (k0 + BK < K)
                    wait_for(&full[now], parity);
                if (!FREE)
                    __syncthreads();
            }
            fetch(now, (k + 1) % BK);
            if (k == 0)
                copy(k0 + (STAGES - 1) * BK);
            for (int i = 0; i < TM; ++i)
                for (int n = 0; n < TN; ++n) {
                    int j = i % 2 ? TN - 1 - n : n;
                    sum[i][j] += a[k % 2][i] * b[k % 2][j];
                }
        }
    }
    // endregion

    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; j += 4) {
            float4* c = &FLOAT4(C[(size_t)ROW(i) * ldc + COL(j)]);
            float4 old = {};
            if (beta != 0.0f)
                old = *c;
            *c = {alpha * sum[i][j] + beta * old.x, alpha * sum[i][j + 1] + beta * old.y,
                  alpha * sum[i][j + 2] + beta * old.z, alpha * sum[i][j + 3] + beta * old.w};
        }
}
