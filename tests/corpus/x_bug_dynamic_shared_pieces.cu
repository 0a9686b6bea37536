// Dynamic shared memory cut into bytes first and doubles after
//
// family: planted
// kernel: pieces
// grid: 1
// block: 33
// dynamic shared: 400
// args: double[33] uniform; out double[33]
// planted: misaligned
extern "C" __global__ void pieces(const double *x, double *y)
{
    extern __shared__ __align__(16) char raw[];
    char *flags = raw;
    double *vals = (double *)(raw + blockDim.x);
    int t = threadIdx.x;
    flags[t] = x[t] > 0;
    vals[t] = x[t]; // fault
    __syncthreads();
    y[t] = flags[blockDim.x - 1 - t] ? vals[t] : -vals[t]; // fault
}
