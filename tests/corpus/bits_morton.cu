// Morton codes, Gray codes, interleaved bits and a parity by shifts
//
// family: bits
// kernel: codes
// grid: 2
// block: 50
// args: ushort[100,2] bits; out uint[100]; out ushort[200]; out uint[100]

__device__ unsigned spread(unsigned x)
{
    x = (x | (x << 8)) & 0x00FF00FF;
    x = (x | (x << 4)) & 0x0F0F0F0F;
    x = (x | (x << 2)) & 0x33333333;
    return (x | (x << 1)) & 0x55555555;
}
extern "C" __global__ void codes(const ushort2 *p, unsigned *m, unsigned short *gray, unsigned *parity)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    ushort2 q = p[i];
    m[i] = spread(q.x) | spread(q.y) << 1;
    gray[2 * i] = q.x ^ (q.x >> 1); gray[2 * i + 1] = q.y ^ (q.y >> 1);
    unsigned v = m[i]; v ^= v >> 16; v ^= v >> 8; v ^= v >> 4;
    parity[i] = (0x6996 >> (v & 15)) & 1;
}
