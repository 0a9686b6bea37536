// Correct: many threads write the same value to one cell
//
// family: correct but suspicious
// kernel: anyNegative
// grid: 1
// block: 128
// args: int[128] below 50; out int[1]

extern "C" __global__ void anyNegative(const int *x, int *out)
{
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    if (x[threadIdx.x] > 40) found = 1;
    __syncthreads();
    if (threadIdx.x == 0) *out = found;
}
