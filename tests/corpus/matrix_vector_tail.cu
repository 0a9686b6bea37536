// A matrix times a vector in tiles, the last of them short
//
// family: matrix times vector
// kernel: product
// grid: 2
// block: 64
// approximate: 1e-5 absolute
// args: float[100,75] uniform; float[75] uniform; out float[100]; int 100; int 75

extern "C" __global__ void product(const float *a, const float *x, float *y, int m, int n)
{
    __shared__ float tile[64];
    int r = blockIdx.x * 64 + threadIdx.x;
    float s = 0;
    for (int k = 0; k < n; k += 64) {
        if (k + threadIdx.x < n) tile[threadIdx.x] = x[k + threadIdx.x];
        __syncthreads();
        int end = min(64, n - k);
        if (r < m) for (int j = 0; j < end; j++) s += a[r * n + k + j] * tile[j];
        __syncthreads();
    }
    if (r < m) y[r] = s;
}
