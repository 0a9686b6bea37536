// exp, exp2, exp10, expm1, log, log2, log10, log1p in double; log(2.0 * x) beside
//
// family: math functions
// kernel: exponentials64
// grid: 1
// block: 64
// approximate: 1 ulp
// args: double[64] uniform -20 20; out double[9,64]

extern "C" __global__ void exponentials64(const double *x, double *y)
{
    int i = threadIdx.x; double v = x[i], p = fabs(v) + 1e-3;
    y[i] = exp(v); y[64 + i] = exp2(v); y[128 + i] = exp10(v); y[192 + i] = expm1(v);
    y[256 + i] = log(p); y[320 + i] = log2(p); y[384 + i] = log10(p); y[448 + i] = log1p(p); y[512 + i] = log(2.0 * p);
}
