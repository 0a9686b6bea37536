// Modular powers by Montgomery's multiplication, 64 bits
//
// family: integer
// kernel: powmod
// grid: 1
// block: 64
// args: ulong[50] bits; uint[50] bits; ulong[50] bits; out ulong[50]; int 50
typedef unsigned long long u64;
struct Mont {
    u64 n, inv, r2;
    __device__ explicit Mont(u64 mod) : n(mod) {
        inv = n;
        for (int i = 0; i < 5; ++i) inv *= 2 - n * inv;
        inv = 0 - inv;
        u64 r = (0 - n) % n;
        r2 = r;
        for (int i = 0; i < 64; ++i) r2 = r2 >= n - r2 ? r2 - (n - r2) : r2 + r2;
    }
    __device__ u64 redc(u64 hi, u64 lo) const {
        u64 m = lo * inv, t = __umul64hi(m, n);
        u64 carry = lo != 0, s = hi + t;
        bool over = s < hi;
        u64 q = s + carry;
        over |= q < s;
        return over || q >= n ? q - n : q;
    }
    __device__ u64 mul(u64 a, u64 b) const { return redc(__umul64hi(a, b), a * b); }
};
extern "C" __global__ void powmod(const u64 *base, const unsigned *exp, const u64 *mod, u64 *out, int n)
{
    int i = threadIdx.x;
    if (i >= n) return;
    Mont m(mod[i] | 1);
    u64 b = m.mul(base[i] % m.n, m.r2), r = m.mul(1, m.r2);
    for (unsigned e = exp[i]; e; e >>= 1) {
        if (e & 1) r = m.mul(r, b);
        b = m.mul(b, b);
    }
    out[i] = m.redc(0, r);
}
