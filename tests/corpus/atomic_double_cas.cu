// atomicAdd of doubles by compare and swap, as the Programming Guide has it
//
// family: atomics
// kernel: sumDoubles
// grid: 3
// block: 32
// args: double[96] values 1 2.5 -4 8.25 0.125; double[2] zeros

__device__ double atomicAddCAS(double* address, double val)
{
    unsigned long long int* address_as_ull = (unsigned long long int*)address;
    unsigned long long int old = *address_as_ull, assumed;
    do {
        assumed = old;
        old = atomicCAS(address_as_ull, assumed,
                        __double_as_longlong(val + __longlong_as_double(assumed)));
    } while (assumed != old);
    return __longlong_as_double(old);
}

extern "C" __global__ void sumDoubles(const double* x, double* sum)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAddCAS(&sum[i & 1], x[i]);
}
