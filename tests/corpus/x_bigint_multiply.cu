// Products of 256-bit integers with carries, schoolbook, a product a thread
//
// family: integer
// kernel: bigmul<8>
// grid: 1
// block: 40
// args: uint[35,8] bits; uint[35,8] bits; out uint[35,16]; int 35
typedef unsigned long long u64;
template <int LIMBS>
__global__ void bigmul(const unsigned *a, const unsigned *b, unsigned *out, int n)
{
    int t = threadIdx.x;
    if (t >= n) return;
    unsigned r[2 * LIMBS] = {};
    a += t * LIMBS; b += t * LIMBS;
    for (int i = 0; i < LIMBS; ++i) {
        unsigned carry = 0;
        for (int j = 0; j < LIMBS; ++j) {
            u64 p = (u64)a[i] * b[j] + r[i + j] + carry;
            r[i + j] = (unsigned)p;
            carry = p >> 32;
        }
        r[i + LIMBS] = carry;
    }
    for (int k = 0; k < 2 * LIMBS; ++k) out[t * 2 * LIMBS + k] = r[k];
}
