// erf, erfc, lgamma, tgamma, j0 in double
//
// family: math functions
// kernel: special64
// grid: 1
// block: 64
// approximate: 10 ulp
// args: double[64] uniform 0.2 4; out double[5,64]

extern "C" __global__ void special64(const double *x, double *y)
{
    int i = threadIdx.x; double v = x[i];
    y[i] = erf(v - 2); y[64 + i] = erfc(v); y[128 + i] = lgamma(v + 3); y[192 + i] = tgamma(v); y[256 + i] = erfcx(v);
}
