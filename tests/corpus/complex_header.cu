// cuComplex.h: products, quotients and absolute values
//
// family: contraction
// kernel: complexHeader
// grid: 1
// block: 64
// headers: cuComplex.h
// args: float[64,2] uniform; float[64,2] uniform; out float[3,64,2]; out float[64]

#include <cuComplex.h>

extern "C" __global__ void complexHeader(const cuFloatComplex *a, const cuFloatComplex *b, cuFloatComplex *r, float *m)
{
    int i = threadIdx.x;
    r[i] = cuCmulf(a[i], b[i]);
    r[64 + i] = cuCdivf(a[i], b[i]);
    r[128 + i] = cuCfmaf(a[i], b[i], cuConjf(a[i]));
    m[i] = cuCabsf(b[i]);
}
