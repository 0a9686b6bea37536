// SAXPY by a grid-stride loop, scalars of several types
//
// family: launches
// kernel: saxpy
// grid: 2
// block: 96
// args: int 1001; float 2.5; float[1001] uniform; float[1001] uniform

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = a * x[i] + y[i];
}
