// An AES round: S-box made by inversion in GF(256), shift of rows, mixing of columns
//
// family: hashing
// kernel: aesRound
// grid: 2
// block: 16 4
// args: uchar[7,16] bits; uchar[16] bits; out uchar[7,16]; int 7
typedef unsigned char byte;
__device__ byte gmul(byte a, byte b)
{
    byte p = 0;
    while (b) {
        if (b & 1) p ^= a;
        a = (a << 1) ^ ((a >> 7) * 0x1b);
        b >>= 1;
    }
    return p;
}
extern "C" __global__ void aesRound(const byte *in, const byte *key, byte *out, int n)
{
    __shared__ byte sbox[256];
    __shared__ byte st[4][16];
    for (int v = threadIdx.y * 16 + threadIdx.x; v < 256; v += 64) {
        byte inv = 1, sq = v;
        for (int k = 1; k < 8; ++k) { sq = gmul(sq, sq); inv = gmul(inv, sq); }   // v to the 254th
        byte s = inv;
        for (int k = 1; k < 5; ++k) s ^= (byte)((inv << k) | (inv >> (8 - k)));
        sbox[v] = s ^ 0x63;
    }
    __syncthreads();
    int b = blockIdx.x * 4 + threadIdx.y, i = threadIdx.x;
    if (b < n) st[threadIdx.y][(i - 4 * (i & 3)) & 15] = sbox[in[b * 16 + i]];
    __syncthreads();
    if (b < n) {
        const byte *c = st[threadIdx.y] + (i & ~3);
        int r = i & 3;
        out[b * 16 + i] = gmul(c[r], 2) ^ gmul(c[(r + 1) & 3], 3) ^ c[(r + 2) & 3] ^ c[(r + 3) & 3] ^ key[i];
    }
}
