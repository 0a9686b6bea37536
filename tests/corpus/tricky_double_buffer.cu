// Correct: two buffers and one barrier an iteration
//
// family: correct but suspicious
// kernel: rounds
// grid: 2
// block: 64
// args: int[128] below 100; out int[128]; int 9

extern "C" __global__ void rounds(const int *x, int *y, int n)
{
    __shared__ int s[2][64];
    int t = threadIdx.x;
    s[0][t] = x[blockIdx.x * 64 + t];
    for (int k = 0; k < n; ++k) {
        __syncthreads();
        s[(k + 1) & 1][t] = s[k & 1][(t + 1) & 63] + s[k & 1][(t + 63) & 63];
    }
    y[blockIdx.x * 64 + t] = s[n & 1][t];
}
