// Histogram of bytes in shared memory, merged by atomics
//
// family: histogram
// kernel: histogram256
// grid: 4
// block: 128
// args: uchar[2000] bits; uint[256] zeros; int 2000

extern "C" __global__ void histogram256(const unsigned char *buffer, unsigned *histo, int size)
{
    __shared__ unsigned temp[256];
    temp[threadIdx.x] = 0; temp[threadIdx.x + 128] = 0;
    __syncthreads();
    int i = threadIdx.x + blockIdx.x * blockDim.x, offset = blockDim.x * gridDim.x;
    while (i < size) { atomicAdd(&temp[buffer[i]], 1); i += offset; }
    __syncthreads();
    atomicAdd(&histo[threadIdx.x], temp[threadIdx.x]);
    atomicAdd(&histo[threadIdx.x + 128], temp[threadIdx.x + 128]);
}
