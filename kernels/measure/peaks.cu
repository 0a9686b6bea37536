// The most multiply-adds that a GPU can do, and the least that a launch takes.

#define CHAINS 8
#define UNROLL 64

// Eight independent chains of FMAs per thread hide the latency of each; 512 of them stand
// between two branches. The sum is written so that nothing is optimised away.
extern "C" __global__ void __launch_bounds__(256)
fma_peak(int trips, float a, float b, float* out)
{
    float x[CHAINS];
    for (int i = 0; i < CHAINS; ++i)
        x[i] = threadIdx.x + i;
    for (int trip = 0; trip < trips; ++trip)
        #pragma unroll
        for (int repeat = 0; repeat < UNROLL; ++repeat)
            #pragma unroll
            for (int i = 0; i < CHAINS; ++i)
                x[i] = fmaf(x[i], a, b);
    float sum = 0.0f;
    for (int i = 0; i < CHAINS; ++i)
        sum += x[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void nothing() {}
