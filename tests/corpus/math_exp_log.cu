// expf, exp2f, exp10f, expm1f, logf, log2f, log10f, log1pf
//
// family: math functions
// kernel: exponentials
// grid: 1
// block: 100
// approximate: 2 ulp
// args: float[100] uniform -20 20; out float[9,100]

extern "C" __global__ void exponentials(const float *x, float *y)
{
    int i = threadIdx.x; float v = x[i], p = fabsf(v) + 1e-3f;
    y[i] = expf(v); y[100 + i] = exp2f(v); y[200 + i] = exp10f(v); y[300 + i] = expm1f(v);
    y[400 + i] = logf(p); y[500 + i] = log2f(p); y[600 + i] = log10f(p); y[700 + i] = log1pf(p); y[800 + i] = logbf(v);
}
