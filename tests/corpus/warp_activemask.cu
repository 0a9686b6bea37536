// Aggregated increment of a counter by the threads that are active
//
// family: warp
// kernel: filter
// grid: 2
// block: 64
// compare: none for 2
// args: int[128] below 10; int[1] zeros; out int[128]; out int[128]

__device__ int aggregatedInc(int *counter)
{
    unsigned mask = __activemask();
    int leader = __ffs(mask) - 1, lane = threadIdx.x & 31, base;
    if (lane == leader) base = atomicAdd(counter, __popc(mask));
    base = __shfl_sync(mask, base, leader);
    return base + __popc(mask & ((1u << lane) - 1));
}

extern "C" __global__ void filter(const int *x, int *n, int *kept, int *flag)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] > 4) kept[aggregatedInc(n)] = x[i];
    flag[i] = x[i] > 4;
}
