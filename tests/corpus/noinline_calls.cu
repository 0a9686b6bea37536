// Functions that are not inlined: floats, doubles, structs and pointers in and out, divergent calls
//
// family: calls
// kernel: calls
// grid: 2
// block: 48
// args: float[96] uniform; out float[96]; out double[96]; out int[96]

struct Pair { int a; float b; };
__device__ __noinline__ float cube(float x) { return x * x * x; }
__device__ __noinline__ Pair split(float x) { int n = (int)(x * 100); return {n, x * 100 - n}; }
__device__ __noinline__ void minmax(float *lo, float *hi) { if (*lo > *hi) { float t = *lo; *lo = *hi; *hi = t; } }
__device__ __noinline__ double mean(double a, double b) { return 0.5 * (a + b); }

extern "C" __global__ void calls(const float *x, float *y, double *z, int *n)
{
    int i = blockIdx.x * 48 + threadIdx.x;
    float v = x[i], w = 0.25f;
    Pair p = split(v);
    if (v > 0) w = cube(v); else if (i % 2) w = cube(v + 1);
    minmax(&v, &w);
    y[i] = v + 10 * w + p.b;
    z[i] = mean(v, w);
    n[i] = p.a;
}
