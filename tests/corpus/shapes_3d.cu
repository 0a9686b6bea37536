// A block of 3 dimensions whose size is no multiple of 32, a grid of 3
//
// family: launches
// kernel: fill
// grid: 2 3 2
// block: 5 3 3
// args: out int[540]; out int[540]

extern "C" __global__ void fill(int *a, int *b)
{
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int i = block * 45 + thread;
    a[i] = blockIdx.z * 100000 + blockIdx.y * 10000 + blockIdx.x * 1000 + threadIdx.z * 100 + threadIdx.y * 10 + threadIdx.x;
    b[i] = __shfl_sync(__activemask(), thread, 12);
}
