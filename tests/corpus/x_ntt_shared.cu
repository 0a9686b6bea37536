// Number-theoretic transform of 64 points modulo 998244353, decimation in time, ping-pong
//
// family: integer
// kernel: ntt64
// grid: 3
// block: 32
// args: uint[3,64] below 998244353; out uint[3,64]
#define MOD 998244353u
__device__ unsigned mulmod(unsigned a, unsigned b) { return (unsigned long long)a * b % MOD; }
__device__ unsigned powmod(unsigned a, unsigned e) { unsigned r = 1; while (e) { if (e & 1) r = mulmod(r, a); a = mulmod(a, a); e >>= 1; } return r; }

extern "C" __global__ void ntt64(const unsigned *in, unsigned *out)
{
    __shared__ unsigned x[64];
    const int t = threadIdx.x;
    in += blockIdx.x * 64; out += blockIdx.x * 64;
    x[__brev(t) >> 26] = in[t];
    x[__brev(t + 32) >> 26] = in[t + 32];
    for (int half = 1; half < 64; half <<= 1) {
        __syncthreads();
        int j = t & (half - 1), lo = (t - j) * 2 + j;
        unsigned w = powmod(3, (MOD - 1) / (2 * half) * j);
        unsigned u = x[lo], v = mulmod(x[lo + half], w);
        x[lo] = u + v >= MOD ? u + v - MOD : u + v;
        x[lo + half] = u >= v ? u - v : u + MOD - v;
    }
    __syncthreads();
    out[t] = x[t];
    out[t + 32] = x[t + 32];
}
