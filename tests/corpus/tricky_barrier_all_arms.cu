// Correct: the branch with the barrier is the same for the whole block
//
// family: correct but suspicious
// kernel: uniform
// grid: 4
// block: 48
// args: int[192] iota; out int[192]

extern "C" __global__ void uniform(const int *x, int *y)
{
    __shared__ int s[48];
    int t = threadIdx.x, i = blockIdx.x * 48 + t;
    s[t] = x[i];
    if (blockIdx.x & 1) {
        __syncthreads();
        y[i] = s[47 - t];
    } else {
        y[i] = s[t];
        __syncthreads();
    }
}
