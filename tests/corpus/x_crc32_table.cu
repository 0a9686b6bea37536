// CRC32 by a table that the block makes in shared memory
//
// family: hashing
// kernel: crc32
// grid: 2
// block: 64
// args: uchar[70,33] bits; out uint[70]; int 70; int 33
extern "C" __global__ void crc32(const unsigned char *d, unsigned *out, int n, int len)
{
    __shared__ unsigned table[256];
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) {
        unsigned c = i;
        for (int k = 0; k < 8; ++k) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
        table[i] = c;
    }
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned c = ~0u;
        int k = len;
        const unsigned char *p = d + i * len;
        while (k--) c = table[(c ^ *p++) & 0xff] ^ c >> 8;
        out[i] = ~c;
    }
}
