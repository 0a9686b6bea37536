// Counting and finding bits: popc, clz, ffs, brev, in 32 and 64 bits
//
// family: bits
// kernel: bits
// grid: 1
// block: 100
// args: uint[100] bits; ulong[100] bits; out uint[9,100]; out ulong[100]

extern "C" __global__ void bits(const unsigned *x, const unsigned long long *y, unsigned *r, unsigned long long *b)
{
    int i = threadIdx.x;
    unsigned v = i == 7 ? 0 : x[i] >> (i % 32);
    unsigned long long w = i == 9 ? 0 : y[i] >> (i % 64);
    r[i] = __popc(v);
    r[100 + i] = __clz(v);
    r[200 + i] = __ffs(v);
    r[300 + i] = __brev(v);
    r[400 + i] = __popcll(w);
    r[500 + i] = __clzll(w);
    r[600 + i] = __ffsll(w);
    r[700 + i] = 31 - __clz(v & -v);
    r[800 + i] = (v & (v - 1)) == 0;
    b[i] = __brevll(w);
}
