// A shuffle reads from a lane that is not in the mask
//
// family: planted
// kernel: fromOutside
// grid: 1
// block: 32
// planted: barrier, uninitialised
// args: int[32] iota; out int[32]

extern "C" __global__ void fromOutside(const int *x, int *y)
{
    int t = threadIdx.x, v = x[t];
    if (t < 16)
        v = __shfl_sync(0x0000ffff, v, t + 12); // fault
    y[t] = v;
}
