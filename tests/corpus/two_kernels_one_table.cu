// A kernel that fills a __device__ array by one launch and reads it in the next
//
// family: device variables
// kernel: alternate
// grid: 2
// block: 64
// launches: 2
// args: int[128] permutation; out int[128]

__device__ int table[128];
__device__ bool filled = false;
__device__ unsigned finished = 0;

extern "C" __global__ void alternate(const int *x, int *y)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    if (!*(volatile bool*)&filled) table[x[i]] = i;
    else y[i] = table[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicAdd(&finished, 1) == 1) *(volatile bool*)&filled = true;
    }
}
