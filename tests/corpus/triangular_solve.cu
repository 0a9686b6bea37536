// Forward substitution, a warp for each right side
//
// family: linear algebra
// kernel: trsv
// grid: 2
// block: 32 4
// args: float[32,32] uniform 1 2; float[8,32] uniform; out float[8,32]

extern "C" __global__ void trsv(const float *L, const float *B, float *X)
{
    int lane = threadIdx.x, rhs = blockIdx.x * blockDim.y + threadIdx.y;
    float b = B[rhs * 32 + lane];
    for (int k = 0; k < 32; k++) {
        float x = b / L[k * 32 + k];
        x = __shfl_sync(0xffffffff, x, k);
        if (lane == k) X[rhs * 32 + k] = x;
        else if (lane > k) b -= L[lane * 32 + k] * x;
    }
}
