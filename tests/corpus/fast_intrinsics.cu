// __sinf, __cosf, __logf, __expf, __powf and __tanf: bounds from the Programming Guide
//
// family: math functions
// kernel: fast
// grid: 2
// block: 64
// approximate: 1e-6 absolute
// args: float[128] uniform -3.1 3.1; out float[5,128]

extern "C" __global__ void fast(const float *x, float *y)
{
    int i = blockIdx.x * 64 + threadIdx.x; float v = x[i];
    y[i] = __sinf(v); y[128 + i] = __cosf(v); y[256 + i] = __logf(fabsf(v) * 0.3f + 0.5f);
    y[384 + i] = __expf(v * 0.1f); y[512 + i] = __powf(fabsf(v) * 0.1f + 0.7f, 0.5f);
}
