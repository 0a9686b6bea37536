// Reduction 6 of the old SDK, warp-synchronous tail with barriers of a warp
//
// family: reduction
// kernel: reduce6<128, false>
// grid: 3
// block: 128
// dynamic shared: 512
// args: int[1500] below 1000; out int[3]; int 1500
template <unsigned int blockSize>
__device__ void warpReduce(volatile int *sdata, unsigned int tid)
{
    if (blockSize >= 64) { sdata[tid] += sdata[tid + 32]; __syncwarp(); }
    int v;
    if (blockSize >= 32) { v = sdata[tid + 16]; __syncwarp(); sdata[tid] += v; __syncwarp(); }
    if (blockSize >= 16) { v = sdata[tid + 8];  __syncwarp(); sdata[tid] += v; __syncwarp(); }
    if (blockSize >= 8)  { v = sdata[tid + 4];  __syncwarp(); sdata[tid] += v; __syncwarp(); }
    if (blockSize >= 4)  { v = sdata[tid + 2];  __syncwarp(); sdata[tid] += v; __syncwarp(); }
    if (blockSize >= 2)  { v = sdata[tid + 1];  __syncwarp(); sdata[tid] += v; __syncwarp(); }
}

template <unsigned int blockSize, bool nIsPow2>
__global__ void reduce6(int *g_idata, int *g_odata, unsigned int n)
{
    extern __shared__ int sdata[];

    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x*(blockSize*2) + tid;
    unsigned int gridSize = blockSize*2*gridDim.x;

    int mySum = 0;
    while (i < n) {
        mySum += g_idata[i];
        if (nIsPow2 || i + blockSize < n)
            mySum += g_idata[i+blockSize];
        i += gridSize;
    }

    sdata[tid] = mySum;
    __syncthreads();

    if (blockSize >= 512) { if (tid < 256) { sdata[tid] += sdata[tid + 256]; } __syncthreads(); }
    if (blockSize >= 256) { if (tid < 128) { sdata[tid] += sdata[tid + 128]; } __syncthreads(); }
    if (blockSize >= 128) { if (tid <  64) { sdata[tid] += sdata[tid +  64]; } __syncthreads(); }

    if (tid < 32) warpReduce<blockSize>(sdata, tid);
    if (tid == 0) g_odata[blockIdx.x] = sdata[0];
}
