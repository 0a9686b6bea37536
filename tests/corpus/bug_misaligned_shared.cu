// Doubles behind an odd number of ints in dynamic shared memory
//
// family: planted
// kernel: divided
// grid: 1
// block: 32
// dynamic shared: 512
// planted: misaligned
// args: double[32] uniform; out double[32]; int 33

extern "C" __global__ void divided(const double *x, double *y, int n)
{
    extern __shared__ int raw[];
    double *d = (double*)(raw + n);
    raw[threadIdx.x] = threadIdx.x;
    d[threadIdx.x] = x[threadIdx.x]; // fault
    __syncthreads();
    y[threadIdx.x] = d[31 - threadIdx.x] + raw[threadIdx.x]; // fault
}
