// An atomic beyond the end of a histogram
//
// family: planted
// kernel: histogram
// grid: 1
// block: 64
// planted: out of bounds
// args: int[64] values 1 2 3 16 4; int[16] zeros

extern "C" __global__ void histogram(const int *x, int *h)
{
    atomicAdd(&h[x[threadIdx.x]], 1); // fault
}
