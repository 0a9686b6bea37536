// Conversions between floats and integers in every rounding, with saturation
//
// family: float
// kernel: conversions
// grid: 1
// block: 96
// args: float[96] uniform -5e9 5e9; double[96] uniform -1e19 1e19; int[96] bits; long[96] bits; out int[9,96]; out long[3,96]; out float[6,96]

extern "C" __global__ void conversions(const float *x, const double *y, const int *k, const long long *l,
                                       int *r, long long *s, float *f)
{
    int i = threadIdx.x;
    float a = i & 1 ? x[i] : x[i] * 1e-8f; double d = i & 1 ? y[i] : y[i] * 1e-17;
    r[i] = __float2int_rn(a); r[96 + i] = __float2int_rz(a); r[192 + i] = __float2int_ru(a); r[288 + i] = __float2int_rd(a);
    r[384 + i] = __float2uint_rz(a); r[480 + i] = __double2int_rn(d); r[576 + i] = __double2int_rd(d);
    r[672 + i] = __double2uint_ru(d); r[768 + i] = (unsigned char)(a * 0.001f);
    s[i] = __double2ll_rz(d); s[96 + i] = __float2ll_rn(a); s[192 + i] = (long long)__double2ull_rd(d);
    f[i] = __int2float_rz(k[i]); f[96 + i] = __int2float_ru(k[i]); f[192 + i] = __uint2float_rd(k[i]);
    f[288 + i] = __ll2float_rn(l[i]); f[384 + i] = __double2float_rd(d); f[480 + i] = __double2float_ru(d);
}
