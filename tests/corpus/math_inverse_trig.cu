// asinf, acosf, atanf, atan2f and their hyperbolic kin
//
// family: math functions
// kernel: inverse
// grid: 1
// block: 128
// approximate: 4 ulp
// args: float[128] uniform -1 1; float[128] uniform -5 5; out float[7,128]

extern "C" __global__ void inverse(const float* x, const float* y, float* r)
{
    int i = threadIdx.x, n = blockDim.x;
    r[i] = asinf(x[i]); r[n + i] = acosf(x[i]); r[2 * n + i] = atanf(y[i]); r[3 * n + i] = atan2f(x[i], y[i]);
    r[4 * n + i] = asinhf(y[i]); r[5 * n + i] = acoshf(1.0f + fabsf(y[i])); r[6 * n + i] = atanhf(x[i]);
}
