// Greatest common divisors, modular powers and inverses
//
// family: numbers
// kernel: theory
// grid: 1
// block: 96
// args: uint[96] bits; uint[96] bits; out uint[96]; out uint[96]; out long[96]

extern "C" __global__ void theory(const unsigned* a, const unsigned* b, unsigned* g, unsigned* p, long long* inv)
{
    int i = threadIdx.x;
    unsigned x = a[i], y = b[i];
    while (y) { unsigned t = x % y; x = y; y = t; }
    g[i] = x;
    unsigned long long base = a[i] % 1000003, r = 1;
    for (unsigned e = b[i] & 0xffff; e; e >>= 1) { if (e & 1) r = r * base % 1000003; base = base * base % 1000003; }
    p[i] = r;
    long long m = 1000003, q0 = 0, q1 = 1, u = a[i] % 1000003, v = m;
    while (u > 1) { long long q = u / v, t = v; v = u % v; u = t; t = q0; q0 = q1 - q * q0; q1 = t; if (!v) break; }
    inv[i] = q1 < 0 ? q1 + m : q1;
}
