// Matrix-vector product, a warp for each row
//
// family: linear algebra
// kernel: gemv
// grid: 4
// block: 128
// args: float[13,100] uniform; float[100] uniform; out float[13]; int 13; int 100

extern "C" __global__ void gemv(const float* A, const float* x, float* y, int rows, int cols)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int j = lane; j < cols; j += 32) sum = fmaf(A[row * cols + j], x[j], sum);
    for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (lane == 0) y[row] = sum;
}
