// ChaCha20 key stream, a block of 64 bytes a thread, xored onto the text
//
// family: hashing
// kernel: chacha
// grid: 1
// block: 32
// args: uint[8] bits; uint[3] bits; uint 1; uint[30,16] bits; out uint[30,16]; int 30
#define QR(a, b, c, d) \
    a += b; d ^= a; d = (d << 16 | d >> 16); \
    c += d; b ^= c; b = (b << 12 | b >> 20); \
    a += b; d ^= a; d = (d << 8 | d >> 24);  \
    c += d; b ^= c; b = (b << 7 | b >> 25)
extern "C" __global__ void chacha(const unsigned *key, const unsigned *nonce, unsigned counter,
                                  const uint4 *text, uint4 *out, int n)
{
    unsigned b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= n) return;
    unsigned s[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, key[0], key[1], key[2], key[3],
                      key[4], key[5], key[6], key[7], counter + b, nonce[0], nonce[1], nonce[2]};
    unsigned x[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) x[i] = s[i];
#pragma unroll 1
    for (int i = 0; i < 10; ++i) {
        QR(x[0], x[4], x[8], x[12]); QR(x[1], x[5], x[9], x[13]);
        QR(x[2], x[6], x[10], x[14]); QR(x[3], x[7], x[11], x[15]);
        QR(x[0], x[5], x[10], x[15]); QR(x[1], x[6], x[11], x[12]);
        QR(x[2], x[7], x[8], x[13]); QR(x[3], x[4], x[9], x[14]);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        uint4 t = text[b * 4 + i];
        t.x ^= x[4 * i] + s[4 * i]; t.y ^= x[4 * i + 1] + s[4 * i + 1];
        t.z ^= x[4 * i + 2] + s[4 * i + 2]; t.w ^= x[4 * i + 3] + s[4 * i + 3];
        out[b * 4 + i] = t;
    }
}
