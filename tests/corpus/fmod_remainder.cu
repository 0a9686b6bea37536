// fmod, remainder, remquo and fdim in both widths: exact by definition
//
// family: math functions
// kernel: remainders
// grid: 1
// block: 64
// args: float[64] uniform -1000 1000; float[64] uniform -7 7; double[64] uniform -1e6 1e6; out float[4,64]; out double[3,64]; out int[64]

extern "C" __global__ void remainders(const float *x, const float *y, const double *z, float *f, double *g, int *q)
{
    int i = threadIdx.x, n;
    f[i] = fmodf(x[i], y[i]); f[64 + i] = remainderf(x[i], y[i]); f[128 + i] = remquof(x[i], y[i], &n); f[192 + i] = fdimf(x[i], y[i]);
    g[i] = fmod(z[i], (double)y[i]); g[64 + i] = remainder(z[i], (double)x[i]); g[128 + i] = fdim(z[i], 10.0);
    q[i] = n & 7;
}
