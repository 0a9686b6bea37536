// bfloat16: conversions, arithmetic and packed pairs
//
// family: half
// kernel: brains
// grid: 1
// block: 96
// headers: cuda_bf16.h
// args: bfloat16[192] uniform -4 4; float[96] uniform; out bfloat16[192]; out bfloat16[2,96]; out float[96]

#include <cuda_bf16.h>

extern "C" __global__ void brains(const __nv_bfloat162* a, const float* x, __nv_bfloat162* r, __nv_bfloat16* s, float* f)
{
    int i = threadIdx.x;
    __nv_bfloat162 p = a[i];
    r[i] = __hfma2(p, p, __float2bfloat162_rn(1.0f));
    s[i] = __float2bfloat16(x[i]);
    s[96 + i] = __hadd(p.x, p.y) * __float2bfloat16(0.5f);
    f[i] = __bfloat162float(p.x) - __bfloat162float(s[i]);
}
