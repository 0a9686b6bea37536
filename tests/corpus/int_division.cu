// Division and remainder of 32 and 64 bits, signed and unsigned, by variables and constants
//
// family: integer
// kernel: divide
// grid: 2
// block: 64
// args: int[128] bits; int[128] bits; long[128] bits; long[128] bits; out int[5,128]; out long[5,128]

extern "C" __global__ void divide(const int *a, const int *b, const long long *c, const long long *d,
                                  int *r, long long *s)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int x = a[i], y = b[i] >> (i % 31) | 1;
    long long u = c[i], v = d[i] >> (i % 63) | 1;
    r[i] = x / y; r[128 + i] = x % y; r[256 + i] = (unsigned)x / 7u; r[384 + i] = x / -10;
    r[512 + i] = (unsigned)x % (unsigned)y;
    s[i] = u / v; s[128 + i] = u % v; s[256 + i] = (unsigned long long)u / (unsigned long long)v;
    s[384 + i] = u / 1000; s[512 + i] = u % 86400;
}
