// __syncthreads_count, _and and _or
//
// family: barrier
// kernel: counts
// grid: 3
// block: 75
// args: int[225] below 10; out int[9]

extern "C" __global__ void counts(const int *x, int *r)
{
    int v = x[blockIdx.x * blockDim.x + threadIdx.x];
    int c = __syncthreads_count(v > 4);
    int a = __syncthreads_and(v < 10);
    int o = __syncthreads_or(v == 3);
    if (threadIdx.x == 74) {
        r[3 * blockIdx.x] = c; r[3 * blockIdx.x + 1] = a != 0; r[3 * blockIdx.x + 2] = o != 0;
    }
}
