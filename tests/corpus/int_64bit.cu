// 64-bit multiplication, high halves, shifts, comparisons, rotation and hashes
//
// family: integer
// kernel: wide
// grid: 1
// block: 96
// args: ulong[96] bits; ulong[96] bits; out ulong[8,96]

extern "C" __global__ void wide(const unsigned long long *x, const unsigned long long *y, unsigned long long *r)
{
    int i = threadIdx.x;
    unsigned long long a = x[i], b = y[i];
    r[i] = a * b;
    r[96 + i] = __umul64hi(a, b);
    r[192 + i] = (unsigned long long)__mul64hi((long long)a, (long long)b);
    r[288 + i] = (a << (i & 63)) | (a >> ((64 - i) & 63));
    r[384 + i] = (unsigned long long)((long long)a >> (i % 64));
    r[480 + i] = a > b ? a - b : b - a;
    unsigned long long h = 14695981039346656037ULL;
    for (int k = 0; k < 8; ++k) { h ^= (a >> (8 * k)) & 255; h *= 1099511628211ULL; }
    r[576 + i] = h;
    r[672 + i] = (unsigned long long)llabs((long long)a) % 1000003 + (unsigned)a * (unsigned long long)(unsigned)b;
}
