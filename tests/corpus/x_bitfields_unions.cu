// Bit-fields, a union of views, small types that wrap, shifts by 32 and more
//
// family: integer
// kernel: fields
// grid: 2
// block: 40
// args: uint[75] bits; out uint[75]; out char[75]; out ushort[75]; out int[75,4]; int 75
struct Packed { unsigned a : 5; int b : 7; unsigned c : 11; bool d : 1; signed char e; };
union View { unsigned u; float f; unsigned char byte[4]; short half[2]; Packed p; };
extern "C" __global__ void fields(const unsigned *x, unsigned *y, signed char *c, unsigned short *s, int *m, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n) return;
    View v;
    v.u = x[i];
    v.p.a += 9;
    v.p.b = -v.p.b;
    v.p.c ^= v.p.a << 3;
    v.p.d = !v.p.d && v.p.e > 0;
    y[i] = v.u;
    signed char k = (signed char)x[i];
    k += 100; k *= 3; k >>= 1; k = -k;
    c[i] = k;
    unsigned short h = v.half[1];
    h = h * h + (h << 3); h -= 12345; h = ~h;
    s[i] = h;
    unsigned sh = x[i] >> 26, l, r;
    asm("shl.b32 %0, %1, %2;" : "=r"(l) : "r"(x[i]), "r"(sh));
    asm("shr.s32 %0, %1, %2;" : "=r"(r) : "r"(x[i]), "r"(sh));
    m[4 * i] = l; m[4 * i + 1] = r;
    m[4 * i + 2] = (int)(x[i] - 0xF0000000u) / 7 % 1000;
    m[4 * i + 3] = v.byte[i & 3] - v.byte[(i + 1) & 3];
}
