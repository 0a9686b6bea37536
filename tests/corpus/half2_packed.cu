// __half2: packed arithmetic, lows and highs, a dot product of a block
//
// family: half
// kernel: packed
// grid: 1
// block: 64
// headers: cuda_fp16.h
// args: half[128] uniform; half[128] uniform; out half[4,128]; out float[1]

#include <cuda_fp16.h>

extern "C" __global__ void packed(const __half2* a, const __half2* b, __half2* r, float* dot)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    r[t] = __hadd2(a[t], b[t]);
    r[64 + t] = __hfma2(a[t], b[t], __half2half2(__float2half(-1.f)));
    r[128 + t] = __lowhigh2highlow(a[t]);
    r[192 + t] = __hmul2(a[t], __floats2half2_rn(2.f, 0.5f));
    float2 p = __half22float2(__hmul2(a[t], b[t]));
    s[t] = p.x + p.y;
    __syncthreads();
    for (int d = 32; d; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
    if (!t) *dot = s[0];
}
