// Half precision: conversions, arithmetic, fused multiply-add, comparison
//
// family: half
// kernel: halves
// grid: 2
// block: 64
// headers: cuda_fp16.h
// args: half[128] uniform -8 8; half[128] uniform -2 2; out half[6,128]; out float[128]; out int[128]

#include <cuda_fp16.h>

extern "C" __global__ void halves(const __half *a, const __half *b, __half *r, float *f, int *c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __half x = a[i], y = b[i];
    r[i] = __hadd(x, y);
    r[128 + i] = x * y;
    r[256 + i] = __hfma(x, y, __float2half(0.5f));
    r[384 + i] = x - y;
    r[512 + i] = __hneg(__habs(y));
    r[640 + i] = __hmax(x, y);
    f[i] = __half2float(x) * 3.0f + __half2float(y);
    c[i] = __hgt(x, y) + 2 * __heq(x, x) + 4 * __half2int_rn(x) + 1000 * __hisnan(y);
}
