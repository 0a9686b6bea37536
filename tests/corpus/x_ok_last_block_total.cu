// The last block to arrive adds up what all have left, fences and a ticket
//
// family: tempting
// kernel: lastBlock
// grid: 5
// block: 64
// args: int[320] below 100; int[5] zeros; out int[1]; uint[1] zeros
// counters: none
__device__ bool amLast(unsigned *ticket)
{
    __shared__ bool last;
    __threadfence();
    if (threadIdx.x == 0) last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    return last;
}
extern "C" __global__ void lastBlock(const int *x, volatile int *part, int *total, unsigned *ticket)
{
    int v = x[blockIdx.x * 64 + threadIdx.x];
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
    __shared__ int two[2];
    if (threadIdx.x % 32 == 0) two[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) part[blockIdx.x] = two[0] + two[1];
    if (amLast(ticket) && threadIdx.x == 0) {
        int s = 0;
        for (int b = 0; b < gridDim.x; ++b) s += part[b];
        *total = s;
    }
}
