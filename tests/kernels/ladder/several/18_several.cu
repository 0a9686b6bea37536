// Several launches: A packed, a part of K for each layer of blocks, and the parts summed
//
// A step as small as one with everything can be, for the tests of what calls it.
//
// launch: pack(grid=((M + BM - 1) // BM, K), block=BM)
// launch: sgemm(grid=((N + BN - 1) // BN, (M + BM - 1) // BM, SPLITS), block=BM * BN,
//               shared=4 * BK * (BM + BN))
// launch: reduce(grid=(M * N + 255) // 256, block=256, when=SPLITS > 1)
// arguments: lda ldb ldc workspace
// workspace: 4 * (K * ((M + BM - 1) // BM) * BM + (SPLITS > 1) * SPLITS * M * N)
// ptxas: -O2
// variant: SPLITS=1
// variant: TRANS_A=1 TRANS_B=1

#ifndef BM
#define BM 16
#endif
#ifndef BN
#define BN 8
#endif
#ifndef BK
#define BK 4
#endif
#ifndef SPLITS
#define SPLITS 2
#endif
#ifndef TRANS_A
#define TRANS_A 0
#endif
#ifndef TRANS_B
#define TRANS_B 0
#endif

static_assert(BM * BN <= 1024 && BM <= 1024, "a block has at most 1024 threads");
static_assert(SPLITS > 0, "somebody multiplies");

// region: pack
// Rows of A as columns of the workspace, whole tiles of them.
extern "C" __global__ void
pack(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
     int lda, int ldb, int ldc, float* workspace)
{
    int row = blockIdx.x * BM + threadIdx.x, k = blockIdx.y;
    float a = 0;
    if (row < M)
        a = TRANS_A ? A[k * lda + row] : A[row * lda + k];
    workspace[k * gridDim.x * BM + row] = a;
}
// endregion

extern "C" __global__ void
sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
      int lda, int ldb, int ldc, float* workspace)
{
    extern __shared__ float tiles[];
    float* tile_a = tiles;            // BK rows of BM
    float* tile_b = tiles + BK * BM;  // BK rows of BN
    int row = threadIdx.x / BN, col = threadIdx.x % BN;
    int width = gridDim.y * BM;
    int length = (K + SPLITS - 1) / SPLITS;
    int first = blockIdx.z * length, end = min(first + length, K);
    float sum = 0;
    for (int k0 = first; k0 < end; k0 += BK) {
        for (int i = threadIdx.x; i < BK * BM; i += BM * BN) {
            int k = k0 + i / BM;
            tile_a[i] = k < end ? workspace[k * width + blockIdx.y * BM + i % BM] : 0;
        }
        for (int i = threadIdx.x; i < BK * BN; i += BM * BN) {
            int k = k0 + i / BN, j = blockIdx.x * BN + i % BN;
            tile_b[i] = k < end && j < N ? TRANS_B ? B[j * ldb + k] : B[k * ldb + j] : 0;
        }
        __syncthreads();
        for (int k = 0; k < BK; ++k)
            sum += tile_a[k * BM + row] * tile_b[k * BN + col];
        __syncthreads();
    }
    row += blockIdx.y * BM;
    col += blockIdx.x * BN;
    if (row >= M || col >= N)
        return;
    // region: store
    if (SPLITS > 1) {
        workspace[K * width + blockIdx.z * M * N + row * N + col] = sum;
    } else {
        float* c = &C[row * ldc + col];
        *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
    }
    // endregion
}

// region: reduce
extern "C" __global__ void
reduce(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
       int lda, int ldb, int ldc, float* workspace)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= M * N)
        return;
    const float* part = workspace + K * ((M + BM - 1) / BM * BM) + i;
    float sum = 0;
    for (int split = 0; split < SPLITS; ++split)
        sum += part[split * M * N];
    float* c = &C[i / N * ldc + i % N];
    *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
}
// endregion
