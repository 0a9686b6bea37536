// sin, cos, tan, sincos and sinpi in double
//
// family: math functions
// kernel: trigonometry64
// grid: 1
// block: 96
// approximate: 2 ulp
// args: double[96] uniform -50 50; out double[6,96]

extern "C" __global__ void trigonometry64(const double *x, double *y)
{
    int i = threadIdx.x; double v = i % 5 == 4 ? x[i] * 1e8 : x[i], s, c;
    y[i] = sin(v); y[96 + i] = cos(v); y[192 + i] = tan(v);
    sincos(0.5 * v, &s, &c); y[288 + i] = s; y[384 + i] = c; y[480 + i] = sinpi(v);
}
