// Xorshift generators of 32 and 64 bits
//
// family: random numbers
// kernel: xorshift
// grid: 2
// block: 70
// args: uint[140] bits; out uint[140]; out ulong[140]

extern "C" __global__ void xorshift(const unsigned *seed, unsigned *a, unsigned long long *b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = seed[i] | 1;
    unsigned long long s = ((unsigned long long)x << 32) | i;
    for (int k = 0; k < 20; k++) {
        x ^= x << 13; x ^= x >> 17; x ^= x << 5;
        s ^= s >> 12; s ^= s << 25; s ^= s >> 27;
    }
    a[i] = x; b[i] = s * 0x2545F4914F6CDD1DULL;
}
