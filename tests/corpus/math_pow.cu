// powf and pow, whole and fractional exponents, negative bases, powi by hand
//
// family: math functions
// kernel: powers
// grid: 1
// block: 96
// approximate: 4 ulp
// args: float[96] uniform -4 4; float[96] uniform -6 6; out float[4,96]; out double[2,96]

extern "C" __global__ void powers(const float *x, const float *y, float *r, double *d)
{
    int i = threadIdx.x; float a = x[i], b = y[i];
    r[i] = powf(fabsf(a), b); r[96 + i] = powf(a, rintf(b)); r[192 + i] = powf(a, 3.0f); r[288 + i] = pow(a, 2);
    d[i] = pow(fabs((double)a), (double)b); d[96 + i] = pow((double)a, (int)b);
}
