// An index of 32 bits that overflows and becomes negative
//
// family: planted
// kernel: far
// grid: 1
// block: 32
// planted: out of bounds
// args: float[64] uniform; int 70000; out float[32]

extern "C" __global__ void far(const float *x, int stride, float *y)
{
    int i = threadIdx.x == 31 ? stride * stride : threadIdx.x;
    y[threadIdx.x] = x[i]; // fault
}
