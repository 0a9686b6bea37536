// Clocks that only go forward, and a kernel that times itself
//
// family: special registers
// kernel: timed
// grid: 3
// block: 64
// args: float[192] uniform; out float[192]; out int[3]; out long[3]
// compare: none for 3
// counters: none
extern "C" __global__ void timed(const float *x, float *y, int *ok, long long *cycles)
{
    __shared__ clock_t first;
    long long begin = clock64();
    if (threadIdx.x == 0) first = clock();
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i];
    for (int k = 0; k < 10; ++k) v = sqrtf(fabsf(v) + 0.5f);
    y[i] = v;
    __syncthreads();
    long long end = clock64();
    if (threadIdx.x == 0) {
        ok[blockIdx.x] = (end > begin) + 2 * (ns > 0) + 4 * (clock() != first);
        cycles[blockIdx.x] = end - begin;
    }
}
