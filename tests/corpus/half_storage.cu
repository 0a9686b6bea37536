// Values kept as half in memory, computed in float: conversions of every rounding
//
// family: half
// kernel: convert
// grid: 2
// block: 48
// headers: cuda_fp16.h
// args: float[96] uniform -70000 70000; out half[5,96]; out float[96]; float[96] specials

#include <cuda_fp16.h>

extern "C" __global__ void convert(const float *x, half *h, float *back, const float *special)
{
    int i = blockIdx.x * 48 + threadIdx.x;
    h[i] = __float2half_rn(x[i]);
    h[96 + i] = __float2half_rz(x[i]);
    h[192 + i] = __float2half_ru(x[i] * 1e-9f);
    h[288 + i] = __float2half_rd(x[i] * 1e-5f);
    h[384 + i] = special[i];
    back[i] = (float)h[i];
}
