// Conversions between float, bfloat16 and half, by intrinsics and by hand
//
// family: conversion
// kernel: brain
// grid: 1
// block: 64
// args: float[60] specials; bfloat16[60] uniform -9 9; out ushort[60,3]; out float[60]; out half[60]; int 60
// headers: cuda_fp16.h cuda_bf16.h
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void brain(const float *x, const __nv_bfloat16 *b, unsigned short *y, float *f, __half *h, int n)
{
    int i = threadIdx.x;
    if (i < n) {
        float v = x[i];
        unsigned u = __float_as_uint(v);
        y[3 * i] = (u & 0x7fffffff) > 0x7f800000 ? 0x7fff : (u + 0x7fff + (u >> 16 & 1)) >> 16;
        y[3 * i + 1] = __bfloat16_as_ushort(__float2bfloat16_rn(v));
        y[3 * i + 2] = __half_as_ushort(__float2half_rz(v));
        f[i] = __bfloat162float(b[i] * b[n - 1 - i] + __float2bfloat16(0.5f));
        h[i] = __hadd(__float2half(__bfloat162float(b[i])), __hneg(__ushort_as_half(0x3c01)));
    }
}
