// clock64, clock and %globaltimer around work: the times are not compared
//
// family: special registers
// kernel: timed
// grid: 2
// block: 64
// compare: none for 2
// args: float[128] uniform; out float[128]; out long[128]; out int[128]

extern "C" __global__ void timed(const float *x, float *y, long long *ticks, int *forward)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long ns;
    long long start = clock64();
    clock_t c = clock();
    float v = x[i];
    for (int k = 0; k < 10; k++) v = v * 0.5f + 0.25f;
    y[i] = v;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    long long stop = clock64();
    ticks[i] = stop - start + (int)c + (long long)ns;
    forward[i] = stop >= start;
}
