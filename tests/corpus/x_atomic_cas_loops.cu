// Updates by compare-and-swap: 16 and 64 bits, float minimum and maximum by their bits
//
// family: atomics
// kernel: loops
// grid: 3
// block: 50
// args: float[150] uniform -8 8; ushort[4] zeros; double[3] values 0 1e300 -1e300; float[2] values 1e30 -1e30; int 150
// counters: none
__device__ void atomicMaxDouble(double *p, double v)
{
    unsigned long long *u = (unsigned long long *)p, old = *u, assumed;
    do {
        assumed = old;
        if (__longlong_as_double(assumed) >= v) break;
        old = atomicCAS(u, assumed, __double_as_longlong(v));
    } while (assumed != old);
}
__device__ float atomicMinFloat(float *addr, float value)
{
    return value >= 0 ? __int_as_float(atomicMin((int *)addr, __float_as_int(value)))
                      : __uint_as_float(atomicMax((unsigned *)addr, __float_as_uint(value)));
}
__device__ float atomicMaxFloat(float *addr, float value)
{
    return value >= 0 ? __int_as_float(atomicMax((int *)addr, __float_as_int(value)))
                      : __uint_as_float(atomicMin((unsigned *)addr, __float_as_uint(value)));
}
extern "C" __global__ void loops(const float *x, unsigned short *h, double *d, float *f, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    unsigned short old = ((volatile unsigned short *)h)[i & 3], seen;
    for (;;) {
        seen = atomicCAS(&h[i & 3], old, (unsigned short)(old + i));
        if (seen == old) break;
        old = seen;
    }
    atomicAdd(&d[0], (double)(int)(v * 16));
    atomicMaxDouble(&d[2], v);
    atomicMinFloat(f, v);
    atomicMaxFloat(f + 1, v);
}
