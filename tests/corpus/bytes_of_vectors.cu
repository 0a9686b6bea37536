// Two bytes of a vector of four, and three halves of four
//
// family: vectors of bytes
// kernel: parts
// grid: 2
// block: 64
// args: uchar[512] bits; ushort[512] bits; out uint[128]

extern "C" __global__ void parts(const uchar4 *a, const ushort4 *b, unsigned *y)
{
    int t = blockIdx.x * 64 + threadIdx.x;
    uchar4 v = a[t];
    ushort4 w = b[t];
    y[t] = v.x * 3 ^ v.w * 5 ^ w.x ^ w.y * 7 ^ w.w * 9;
}
