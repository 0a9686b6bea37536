// NaN, infinities and subnormals in double
//
// family: float
// kernel: nans64
// grid: 1
// block: 64
// args: double[64] specials; double[64] specials; out double[10,64]; out long[2,64]; out float[64]

extern "C" __global__ void nans64(const double *x, const double *y, double *r, long long *n, float *f)
{
    int i = threadIdx.x; double a = x[i], b = y[(i * 5 + 1) & 63];
    r[i] = a + b; r[64 + i] = a * b; r[128 + i] = a - b; r[192 + i] = fma(a, b, -a);
    r[256 + i] = fmin(a, b); r[320 + i] = fmax(a, b); r[384 + i] = sqrt(a); r[448 + i] = -a;
    r[512 + i] = fabs(a); r[576 + i] = a / b;
    n[i] = (long long)a; n[64 + i] = (int)b;
    f[i] = (float)a;
}
