// A matrix product whose last tile of shared memory is left as it was
//
// family: planted
// kernel: matmul
// grid: 2 2
// block: 8 8
// args: float[13,10] uniform; float[10,14] uniform; out float[13,14]; int 13; int 14; int 10
// planted: uninitialised
#define T 8
extern "C" __global__ void matmul(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float a[T][T], b[2][T][T];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float c = 0;
    for (int k = 0, p = 0; k < K; k += T, p ^= 1) {
        a[ty][tx] = row < M && k + tx < K ? A[row * K + k + tx] : 0;
        if (k + ty < K && col < N) b[p][ty][tx] = B[(k + ty) * N + col];
        __syncthreads();
        for (int j = 0; j < T; ++j) c += a[ty][j] * b[p][j][tx]; // fault
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = c;
}
