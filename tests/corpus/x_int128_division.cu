// 128-bit products, sums, shifts and long division by hand
//
// family: integer
// kernel: wide
// grid: 1
// block: 50
// args: ulong[45] bits; ulong[45] bits; out ulong[45,4]; out ulong[45,2]; int 45
// options: --device-int128
typedef unsigned __int128 u128;
extern "C" __global__ void wide(const unsigned long long *a, const unsigned long long *b, ulonglong2 *out, unsigned long long *quot, int n)
{
    int i = threadIdx.x;
    if (i >= n) return;
    u128 p = (u128)a[i] * b[i];
    u128 q = (p << (a[i] & 63)) - (p >> 3) + ((u128)b[i] << 64 | a[i]);
    out[2 * i] = make_ulonglong2((unsigned long long)p, (unsigned long long)(p >> 64));
    out[2 * i + 1] = make_ulonglong2((unsigned long long)q, (unsigned long long)(q >> 64));
    unsigned long long d = b[i] >> 20 | 1, r = 0, x = 0;
    for (int k = 127; k >= 0; --k) {
        r = r << 1 | ((unsigned long long)(q >> k) & 1);
        x <<= 1;
        if (r >= d) { r -= d; x |= 1; }
    }
    quot[2 * i] = x;
    quot[2 * i + 1] = r;
}
