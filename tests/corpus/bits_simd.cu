// SIMD intrinsics on bytes and halves of a word
//
// family: integer
// kernel: simd
// grid: 1
// block: 64
// args: uint[64] bits; uint[64] bits; out uint[12,64]

extern "C" __global__ void simd(const unsigned *x, const unsigned *y, unsigned *r)
{
    int i = threadIdx.x; unsigned a = x[i], b = y[i];
    r[i] = __vadd4(a, b);
    r[64 + i] = __vsub2(a, b);
    r[128 + i] = __vabsdiffu4(a, b);
    r[192 + i] = __vmaxs2(a, b);
    r[256 + i] = __vminu4(a, b);
    r[320 + i] = __vcmpgtu4(a, b);
    r[384 + i] = __vavgu4(a, b);
    r[448 + i] = __vaddus4(a, b);
    r[512 + i] = __vsadu4(a, b);
    r[576 + i] = __vabs4(a);
    r[640 + i] = __vseteq2(a, a ^ (b & 0xffff));
    r[704 + i] = __vneg2(a);
}
