// A left neighbour before the first element
//
// family: planted
// kernel: difference
// grid: 1
// block: 64
// planted: out of bounds
// args: float[64] uniform; out float[64]

extern "C" __global__ void difference(const float *x, float *y)
{
    int i = threadIdx.x;
    y[i] = x[i] - x[i - 1]; // fault
}
