// Arithmetic of integers of 8 and 16 bits: wrap-around, signs, shifts
//
// family: integer
// kernel: narrow
// grid: 1
// block: 128
// args: char[128] bits; uchar[128] bits; short[128] bits; ushort[128] bits; out int[8,128]; out char[128]; out ushort[128]

extern "C" __global__ void narrow(const signed char *a, const unsigned char *b, const short *c,
                                  const unsigned short *d, int *r, signed char *s, unsigned short *u)
{
    int i = threadIdx.x;
    r[i] = a[i] * b[i];
    r[128 + i] = a[i] >> 2;
    r[256 + i] = (unsigned char)(a[i] + b[i]);
    r[384 + i] = (short)(c[i] * d[i]);
    r[512 + i] = c[i] / (b[i] | 1);
    r[640 + i] = c[i] % (short)(a[i] | 1);
    r[768 + i] = d[i] << (b[i] & 7);
    r[896 + i] = (signed char)(c[i] >> 4) < a[i];
    s[i] = a[i] - c[i];
    u[i] = d[i] * d[i] + b[i];
}
