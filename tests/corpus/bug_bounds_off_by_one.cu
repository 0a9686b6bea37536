// The guard is i <= n
//
// family: planted
// kernel: scale
// grid: 2
// block: 128
// planted: out of bounds
// args: double[200] uniform; int 200

extern "C" __global__ void scale(double *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n)
        x[i] *= 2.0; // fault
}
