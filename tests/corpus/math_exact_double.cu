// Division, square root and reciprocal of doubles, correctly rounded
//
// family: math functions
// kernel: exact64
// grid: 1
// block: 128
// args: double[128] bits; double[128] uniform -1e-200 1e-200; out double[4,128]

extern "C" __global__ void exact64(const double *x, const double *y, double *r)
{
    int i = threadIdx.x; double a = x[i] == x[i] ? x[i] : 2.0, b = y[i];
    r[i] = a / b; r[128 + i] = b / a; r[256 + i] = sqrt(fabs(a)); r[384 + i] = 1.0 / b;
}
