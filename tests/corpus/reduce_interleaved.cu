// The first reduction of every course: interleaved addressing and a divergent modulo
//
// family: reduction
// kernel: reduce0
// grid: 3
// block: 128
// args: int[384] below 100; out int[3]

extern "C" __global__ void reduce0(int *g_idata, int *g_odata)
{
    __shared__ int sdata[128];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x*blockDim.x + threadIdx.x;
    sdata[tid] = g_idata[i];
    __syncthreads();
    for (unsigned int s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2*s) == 0) {
            sdata[tid] += sdata[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) g_odata[blockIdx.x] = sdata[0];
}
