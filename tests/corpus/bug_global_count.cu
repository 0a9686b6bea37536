// Blocks that add to one cell of global memory without atomics
//
// family: planted
// kernel: count
// grid: 4
// block: 32
// planted: race
// args: int[128] below 10; int[1] zeros

extern "C" __global__ void count(const int *x, int *total)
{
    if (x[blockIdx.x * 32 + threadIdx.x] > 4) *total += 1; // fault
}
