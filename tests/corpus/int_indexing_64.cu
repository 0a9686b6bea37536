// Indices of 64 bits: size_t strides, negative offsets, ptrdiff_t
//
// family: integer
// kernel: gather
// grid: 2
// block: 64
// args: double[200] uniform; long[128] below 200; out double[128]; ulong 128

extern "C" __global__ void gather(const double *x, const long long *index, double *y, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        const double *end = x + 200;
        long long back = index[i] - 200;
        y[n - 1 - i] = end[back] * (double)(end - (x + index[i]));
    }
}
