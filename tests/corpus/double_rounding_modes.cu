// The same in double
//
// family: float
// kernel: rounded64
// grid: 1
// block: 64
// args: double[64] uniform -3 3; double[64] uniform -3 3; out double[13,64]

extern "C" __global__ void rounded64(const double *x, const double *y, double *r)
{
    int i = threadIdx.x; double a = x[i], b = y[i], c = fabs(a);
    r[i] = __dadd_rz(a, b); r[64 + i] = __dadd_ru(a, b); r[128 + i] = __dadd_rd(a, b);
    r[192 + i] = __dmul_rz(a, b); r[256 + i] = __dmul_ru(a, b); r[320 + i] = __dmul_rd(a, b);
    r[384 + i] = __fma_rz(a, b, c); r[448 + i] = __fma_ru(a, b, c); r[512 + i] = __fma_rd(a, b, c);
    r[576 + i] = __ddiv_rn(a, b); r[640 + i] = __ddiv_rz(a, b); r[704 + i] = __dsqrt_ru(c); r[768 + i] = __drcp_rd(a);
}
