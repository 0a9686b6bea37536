// Maximum of floats by atomicCAS on their bits, and by integer atomics
//
// family: atomics
// kernel: maxima
// grid: 2
// block: 50
// args: float[100] uniform -50 50; float[1] constant -1000; int[1] constant -2147483648

__device__ float atomicMaxf(float* a, float v)
{
    int *i = (int*)a, old = *i, assumed;
    while (__int_as_float(old) < v) {
        assumed = old;
        old = atomicCAS(i, assumed, __float_as_int(v));
        if (old == assumed) break;
    }
    return __int_as_float(old);
}

extern "C" __global__ void maxima(const float* x, float* m, int* ordered)
{
    float v = x[blockIdx.x * blockDim.x + threadIdx.x];
    atomicMaxf(m, v);
    int bits = __float_as_int(v);
    atomicMax(ordered, bits >= 0 ? bits : bits ^ 0x7fffffff);
}
