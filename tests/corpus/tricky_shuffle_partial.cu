// Correct: shuffles in a branch with the mask that a ballot gave
//
// family: correct but suspicious
// kernel: partial
// grid: 2
// block: 64
// args: float[128] uniform; out float[128]

extern "C" __global__ void partial(const float *x, float *y)
{
    int i = blockIdx.x * 64 + threadIdx.x, lane = threadIdx.x & 31;
    float v = x[i];
    unsigned mask = __ballot_sync(0xffffffffu, v > 0);
    if (v > 0) {
        int leader = __ffs(mask) - 1;
        v -= __shfl_sync(mask, v, leader);
        __syncwarp(mask);
        if (lane == leader) v = __popc(mask);
    }
    y[i] = v;
}
