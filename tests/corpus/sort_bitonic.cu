// Bitonic sort of 512 keys in shared memory
//
// family: sort
// kernel: bitonicSort
// grid: 2
// block: 256
// args: float[1024] uniform

extern "C" __global__ void bitonicSort(float *keys)
{
    __shared__ float s[512];
    float *mine = keys + blockIdx.x * 512;
    s[threadIdx.x] = mine[threadIdx.x];
    s[threadIdx.x + 256] = mine[threadIdx.x + 256];
    for (unsigned size = 2; size <= 512; size <<= 1) {
        for (unsigned stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            unsigned pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            bool up = (pos & size) == 0;
            float a = s[pos], b = s[pos + stride];
            if ((a > b) == up) { s[pos] = b; s[pos + stride] = a; }
        }
    }
    __syncthreads();
    mine[threadIdx.x] = s[threadIdx.x];
    mine[threadIdx.x + 256] = s[threadIdx.x + 256];
}
