// Last-block reduction with the fence after the ticket instead of before
//
// family: planted
// kernel: lastBlock
// grid: 4
// block: 32
// planted: race
// args: float[128] uniform; float[4] zeros; uint[1] zeros; out float[1]

extern "C" __global__ void lastBlock(const float *x, float *part, unsigned *count, float *out)
{
    float v = x[blockIdx.x * 32 + threadIdx.x];
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
    if (threadIdx.x == 0) {
        part[blockIdx.x] = v;
        unsigned ticket = atomicAdd(count, 1);
        __threadfence();
        if (ticket == gridDim.x - 1) {
            float s = 0;
            for (int b = 0; b < gridDim.x; b++) s += part[b]; // fault
            *out = s;
        }
    }
}
