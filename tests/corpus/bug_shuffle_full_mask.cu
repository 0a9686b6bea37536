// A shuffle with the full mask in a branch that half of the warp takes
//
// family: planted
// kernel: half
// grid: 1
// block: 32
// planted: barrier
// args: float[32] uniform; out float[32]

extern "C" __global__ void half(const float *x, float *y)
{
    int t = threadIdx.x;
    float v = x[t];
    if (t < 16)
        v += __shfl_down_sync(0xffffffff, v, 8); // fault
    y[t] = v;
}
