// asin, acos, atan, atan2 and the hyperbolic functions in double
//
// family: math functions
// kernel: inverse64
// grid: 1
// block: 64
// approximate: 3 ulp
// args: double[64] uniform -1 1; double[64] uniform -5 5; out double[10,64]

extern "C" __global__ void inverse64(const double* x, const double* y, double* r)
{
    int i = threadIdx.x, n = blockDim.x;
    r[i] = asin(x[i]); r[n + i] = acos(x[i]); r[2 * n + i] = atan(y[i]); r[3 * n + i] = atan2(x[i], y[i]);
    r[4 * n + i] = asinh(y[i]); r[5 * n + i] = acosh(1.0 + fabs(y[i])); r[6 * n + i] = atanh(x[i]);
    r[7 * n + i] = sinh(y[i]); r[8 * n + i] = cosh(y[i]); r[9 * n + i] = tanh(y[i]);
}
