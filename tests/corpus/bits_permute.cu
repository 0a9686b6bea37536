// byte_perm, funnel shifts with and without clamping, bit fields, rotations
//
// family: bits
// kernel: permute
// grid: 1
// block: 64
// args: uint[64] bits; uint[64] bits; out uint[10,64]

extern "C" __global__ void permute(const unsigned *x, const unsigned *y, unsigned *r)
{
    int i = threadIdx.x; unsigned a = x[i], b = y[i], f;
    int g;
    r[i] = __byte_perm(a, b, 0x5410);
    r[64 + i] = __byte_perm(a, b, b & 0x7777);
    r[128 + i] = __funnelshift_l(a, b, i);
    r[192 + i] = __funnelshift_rc(a, b, i);
    r[256 + i] = __funnelshift_lc(a, b, i);
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(f) : "r"(a), "r"(i % 40), "r"(i % 11));
    r[320 + i] = f;
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(g) : "r"((int)a), "r"(i % 35), "r"(i % 9));
    r[384 + i] = g;
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(f) : "r"(a), "r"(b), "r"(i % 33), "r"(i % 13));
    r[448 + i] = f;
    r[512 + i] = (a << (i & 31)) | (a >> ((32 - i) & 31));
    asm("lop3.b32 %0, %1, %2, %3, 0xE8;" : "=r"(f) : "r"(a), "r"(b), "r"(a * b));
    r[576 + i] = f;
}
