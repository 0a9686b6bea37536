// math_constants.h, INFINITY and the tests for it
//
// family: float
// kernel: constants
// grid: 1
// block: 32
// headers: math_constants.h
// args: float[32] specials; out float[6,32]; out double[2,32]; out int[32]

#include <math_constants.h>

extern "C" __global__ void constants(const float *x, float *y, double *d, int *c)
{
    int i = threadIdx.x;
    y[i] = CUDART_PI_F * i;
    y[32 + i] = CUDART_INF_F - i;
    y[64 + i] = fminf(x[i], INFINITY);
    y[96 + i] = x[i] > CUDART_MIN_DENORM_F ? CUDART_SQRT_TWO_F : -INFINITY;
    y[128 + i] = CUDART_MAX_NORMAL_F / (i + 1);
    y[160 + i] = CUDART_LN2_F;
    d[i] = CUDART_PI * i;
    d[32 + i] = CUDART_INF;
    c[i] = isinf(x[i]) + 2 * isnan(x[i]) + 4 * isfinite(x[i]) + 8 * signbit(x[i]);
}
