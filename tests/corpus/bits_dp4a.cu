// dp4a, dp2a, sad, mulhi, mul24, hadd and the averages
//
// family: integer
// kernel: products
// grid: 1
// block: 64
// args: int[64] bits; int[64] bits; out int[12,64]

extern "C" __global__ void products(const int *x, const int *y, int *r)
{
    int i = threadIdx.x, a = x[i], b = y[i];
    r[i] = __dp4a(a, b, 1000);
    r[64 + i] = __dp4a((unsigned)a, (unsigned)b, 7u);
    r[128 + i] = __dp2a_lo(a, b, i);
    r[192 + i] = __dp2a_hi(a, b, -i);
    r[256 + i] = __sad(a, b, 5u);
    r[320 + i] = __usad(a, b, 5u);
    r[384 + i] = __mulhi(a, b);
    r[448 + i] = __umulhi(a, b);
    r[512 + i] = __mul24(a, b);
    r[576 + i] = __hadd(a, b);
    r[640 + i] = __rhadd(a, b);
    r[704 + i] = __uhadd(a, b);
}
