// Intrinsics that name a rounding: add, mul, fma, div, sqrt, rcp in float
//
// family: float
// kernel: rounded
// grid: 1
// block: 64
// args: float[64] uniform -3 3; float[64] uniform -3 3; out float[18,64]

extern "C" __global__ void rounded(const float *x, const float *y, float *r)
{
    int i = threadIdx.x; float a = x[i], b = y[i], c = fabsf(a);
    r[i] = __fadd_rn(a, b); r[64 + i] = __fadd_rz(a, b); r[128 + i] = __fadd_ru(a, b); r[192 + i] = __fadd_rd(a, b);
    r[256 + i] = __fmul_rz(a, b); r[320 + i] = __fmul_ru(a, b); r[384 + i] = __fmul_rd(a, b);
    r[448 + i] = __fmaf_rz(a, b, c); r[512 + i] = __fmaf_ru(a, b, c); r[576 + i] = __fmaf_rd(a, b, c);
    r[640 + i] = __fdiv_rz(a, b); r[704 + i] = __fdiv_ru(a, b); r[768 + i] = __fdiv_rd(a, b);
    r[832 + i] = __fsqrt_rz(c); r[896 + i] = __fsqrt_ru(c); r[960 + i] = __frcp_rd(a);
    r[1024 + i] = __fsub_rz(a, b); r[1088 + i] = __frsqrt_rn(c);
}
