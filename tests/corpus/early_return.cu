// Threads out of range return before the barriers of the others
//
// family: barrier
// kernel: smooth
// grid: 3
// block: 64
// args: float[150] uniform; out float[150]; int 150

extern "C" __global__ void smooth(const float* x, float* y, int n)
{
    __shared__ float s[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    s[threadIdx.x] = x[i];
    __syncthreads();
    int l = threadIdx.x ? threadIdx.x - 1 : 0;
    y[i] = 0.5f * (s[l] + s[threadIdx.x]);
}
