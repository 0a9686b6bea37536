// Reversal in shared memory and in global memory
//
// family: banks
// kernel: reverse
// grid: 2
// block: 64
// args: int[128] iota; out int[128]

extern "C" __global__ void reverse(const int *d, int *out)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = d[blockIdx.x * 64 + t];
    __syncthreads();
    out[blockIdx.x * 64 + 63 - t] = s[63 - t] + s[t ^ 1];
}
