// Sum, minimum and maximum of integers by atomics from every thread
//
// family: reduction
// kernel: stats
// grid: 5
// block: 100
// args: int[450] bits; int 450; int[4] values 0 2147483647 -2147483648 0; ulong[1] zeros

extern "C" __global__ void stats(const int *x, int n, int *r, unsigned long long *total)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(&r[0], x[i]);
    atomicMin(&r[1], x[i]);
    atomicMax(&r[2], x[i]);
    atomicXor(&r[3], x[i]);
    atomicAdd(total, (unsigned long long)(unsigned)x[i]);
}
