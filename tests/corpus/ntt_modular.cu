// Number-theoretic transform modulo 998244353, 64-bit products
//
// family: transform
// kernel: ntt
// grid: 1
// block: 32
// args: uint[64] below 998244353; out uint[64]

#define MOD 998244353u
__device__ unsigned mulmod(unsigned a, unsigned b) { return (unsigned long long)a * b % MOD; }
__device__ unsigned power(unsigned b, unsigned e)
{
    unsigned r = 1;
    for (; e; e >>= 1, b = mulmod(b, b)) if (e & 1) r = mulmod(r, b);
    return r;
}
extern "C" __global__ void ntt(const unsigned *in, unsigned *out)
{
    __shared__ unsigned a[64];
    for (int i = threadIdx.x; i < 64; i += 32) a[__brev(i) >> 26] = in[i];
    __syncthreads();
    for (int len = 2; len <= 64; len <<= 1) {
        int h = len / 2, j = threadIdx.x % h, i = threadIdx.x / h * len + j;
        unsigned w = power(power(3, (MOD - 1) / len), j);
        unsigned u = a[i], v = mulmod(a[i + h], w);
        a[i] = u + v >= MOD ? u + v - MOD : u + v;
        a[i + h] = u >= v ? u - v : u + MOD - v;
        __syncthreads();
    }
    for (int i = threadIdx.x; i < 64; i += 32) out[i] = a[i];
}
