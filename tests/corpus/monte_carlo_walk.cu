// Random walks: where the walkers end, a histogram in shared memory
//
// family: Monte Carlo
// kernel: walks
// grid: 2
// block: 128
// args: int[41] zeros; int 20

extern "C" __global__ void walks(int *ends, int steps)
{
    __shared__ int h[41];
    for (int b = threadIdx.x; b < 41; b += blockDim.x) h[b] = 0;
    __syncthreads();
    unsigned s = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u + 12345u;
    int x = 20;
    for (int k = 0; k < steps; ++k) {
        s ^= s << 13; s ^= s >> 17; s ^= s << 5;
        x += s & 1 ? 1 : -1;
    }
    atomicAdd(&h[x], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < 41; b += blockDim.x) if (h[b]) atomicAdd(&ends[b], h[b]);
}
