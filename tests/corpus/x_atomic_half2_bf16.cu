// Atomic sums of half2 and bfloat16 pairs whose order does not matter
//
// family: atomics
// kernel: halves
// grid: 2
// block: 40
// args: half[8] zeros; bfloat16[8] zeros; double[4] zeros; float[4] zeros
// headers: cuda_fp16.h cuda_bf16.h
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void halves(__half2 *h, __nv_bfloat162 *b, double *d, float *f)
{
    int t = threadIdx.x;
    atomicAdd(&h[t & 3], __floats2half2_rn(1.0f, (float)(t & 7)));
    atomicAdd(&b[t & 3], __floats2bfloat162_rn(0.5f, 2.0f));
    atomicAdd(&d[t % 4], 0.25 * t);
    float old = atomicAdd(&f[t % 4], 1.0f);
    if (old < 0) atomicExch(&f[0], -1.0f);
}
