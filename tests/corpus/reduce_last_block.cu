// One launch: the last block to finish adds up the partial sums (threadfence reduction)
//
// family: reduction
// kernel: sumSinglePass
// grid: 6
// block: 64
// launches: 2
// args: float[700] uniform; int 700; out float[6]; out float[1]

__device__ unsigned int retirementCount = 0;
__shared__ bool amLast;

extern "C" __global__ void sumSinglePass(const float* in, int n, volatile float* partial, float* out)
{
    __shared__ float s[64];
    float a = 0;
    for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) a += in[i];
    s[threadIdx.x] = a;
    for (int k = 32; k; k >>= 1) {
        __syncthreads();
        if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = s[0];
        __threadfence();
        unsigned int ticket = atomicInc(&retirementCount, gridDim.x);
        amLast = (ticket == gridDim.x - 1);
    }
    __syncthreads();
    if (amLast && threadIdx.x == 0) {
        float total = 0;
        for (int b = 0; b < gridDim.x; b++) total += partial[b];
        *out = total;
        retirementCount = 0;
    }
}
