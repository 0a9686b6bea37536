// Huge floats and doubles to integers of every width, and back
//
// family: conversion
// kernel: conv
// grid: 1
// block: 96
// args: float[96] specials; double[96] specials; out int[96,4]; out long[96,4]; out uint[96,4]; out short[96,4]; out float[96,4]
extern "C" __global__ void conv(const float *f, const double *d, int *i32, long long *i64, unsigned *u32, short *i16, float *back)
{
    int t = threadIdx.x;
    float x = f[t] * (t % 3 == 0 ? 1e5f : 1.0f);
    double y = d[t];
    i32[4 * t] = __float2int_rz(x); i32[4 * t + 1] = __float2int_ru(x); i32[4 * t + 2] = __double2int_rn(y); i32[4 * t + 3] = __double2int_rd(y);
    i64[4 * t] = __float2ll_rz(x); i64[4 * t + 1] = __double2ll_rn(y); i64[4 * t + 2] = (long long)__double2ull_rz(y); i64[4 * t + 3] = __float2ull_ru(x);
    u32[4 * t] = __float2uint_rn(x); u32[4 * t + 1] = __double2uint_rz(y); u32[4 * t + 2] = __double2hiint(y); u32[4 * t + 3] = __float_as_uint(__double2float_rd(y));
    i16[4 * t] = (short)__float2int_rn(x); i16[4 * t + 1] = (signed char)__float2int_rd(x); i16[4 * t + 2] = (unsigned char)__double2int_ru(y); i16[4 * t + 3] = (short)lrintf(rintf(x));
    back[4 * t] = __int2float_rd(i32[4 * t]); back[4 * t + 1] = __ll2float_ru(i64[4 * t]); back[4 * t + 2] = __uint2float_rz(u32[4 * t]); back[4 * t + 3] = __ull2float_rn((unsigned long long)i64[4 * t + 2]);
}
