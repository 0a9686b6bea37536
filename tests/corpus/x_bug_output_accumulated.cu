// A product added to an output that nobody set to zero
//
// family: planted
// kernel: accumulate
// grid: 2
// block: 32
// args: float[50] uniform; out float[50]; int 50
// planted: uninitialised
extern "C" __global__ void accumulate(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int k = 0; k < 3; ++k)
            y[i] += x[i] * k; // fault
}
