// Philox 4x32-10, counter-based
//
// family: random numbers
// kernel: philox
// grid: 2
// block: 64
// args: uint 1234; uint 77; out uint[128,4]

extern "C" __global__ void philox(unsigned k0, unsigned k1, uint4 *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 c = make_uint4(i, 0, 0xdeadbeef, 7);
    for (int r = 0; r < 10; ++r) {
        unsigned hi0 = __umulhi(0xD2511F53u, c.x), lo0 = 0xD2511F53u * c.x;
        unsigned hi1 = __umulhi(0xCD9E8D57u, c.z), lo1 = 0xCD9E8D57u * c.z;
        c = make_uint4(hi1 ^ c.y ^ k0, lo1, hi0 ^ c.w ^ k1, lo0);
        k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
    }
    out[i] = c;
}
