// Adds to an output that was never set
//
// family: planted
// kernel: accumulate
// grid: 1
// block: 64
// planted: uninitialised
// args: float[64] uniform; out float[64]

extern "C" __global__ void accumulate(const float *x, float *y)
{
    y[threadIdx.x] += x[threadIdx.x]; // fault
}
