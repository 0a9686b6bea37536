// The old SDK's warp-synchronous tail, volatile and no barrier of the warp
//
// family: planted
// kernel: reduce4
// grid: 2
// block: 128
// dynamic shared: 512
// args: float[512] uniform; out float[2]
// planted: race
__device__ void warpReduce(volatile float *sdata, int tid)
{
    sdata[tid] += sdata[tid + 32]; // fault
    sdata[tid] += sdata[tid + 16]; // fault
    sdata[tid] += sdata[tid + 8]; // fault
    sdata[tid] += sdata[tid + 4]; // fault
    sdata[tid] += sdata[tid + 2]; // fault
    sdata[tid] += sdata[tid + 1]; // fault
}

extern "C" __global__ void reduce4(float *g_idata, float *g_odata)
{
    extern __shared__ float sdata[];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
    sdata[tid] = g_idata[i] + g_idata[i + blockDim.x];
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 32; s >>= 1) {
        if (tid < s) sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid < 32) warpReduce(sdata, tid);
    if (tid == 0) g_odata[blockIdx.x] = sdata[0];
}
