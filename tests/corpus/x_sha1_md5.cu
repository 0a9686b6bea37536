// SHA-1 and MD5 of one block of a message
//
// family: hashing
// kernel: digests
// grid: 1
// block: 40
// args: uint[38,16] bits; out uint[38,5]; out uint[38,4]; int 38
#define ROL(x, n) __funnelshift_l((x), (x), (n))
__constant__ unsigned char shifts[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};
__device__ const unsigned K5[64] = {
0xd76aa478,0xe8c7b756,0x242070db,0xc1bdceee,0xf57c0faf,0x4787c62a,0xa8304613,0xfd469501,0x698098d8,0x8b44f7af,0xffff5bb1,0x895cd7be,0x6b901122,0xfd987193,0xa679438e,0x49b40821,
0xf61e2562,0xc040b340,0x265e5a51,0xe9b6c7aa,0xd62f105d,0x02441453,0xd8a1e681,0xe7d3fbc8,0x21e1cde6,0xc33707d6,0xf4d50d87,0x455a14ed,0xa9e3e905,0xfcefa3f8,0x676f02d9,0x8d2a4c8a,
0xfffa3942,0x8771f681,0x6d9d6122,0xfde5380c,0xa4beea44,0x4bdecfa9,0xf6bb4b60,0xbebfbc70,0x289b7ec6,0xeaa127fa,0xd4ef3085,0x04881d05,0xd9d4d039,0xe6db99e5,0x1fa27cf8,0xc4ac5665,
0xf4292244,0x432aff97,0xab9423a7,0xfc93a039,0x655b59c3,0x8f0ccc92,0xffeff47d,0x85845dd1,0x6fa87e4f,0xfe2ce6e0,0xa3014314,0x4e0811a1,0xf7537e82,0xbd3af235,0x2ad7d2bb,0xeb86d391};
extern "C" __global__ void digests(const unsigned *msg, unsigned *sha, unsigned *md5, int n)
{
    int i = threadIdx.x;
    if (i >= n) return;
    unsigned w[16];
    for (int k = 0; k < 16; ++k) w[k] = __byte_perm(msg[i * 16 + k], 0, 0x0123);
    unsigned a = 0x67452301, b = 0xEFCDAB89, c = 0x98BADCFE, d = 0x10325476, e = 0xC3D2E1F0, f, k;
    for (int t = 0; t < 80; ++t) {
        if (t >= 16) w[t & 15] = ROL(w[(t + 13) & 15] ^ w[(t + 8) & 15] ^ w[(t + 2) & 15] ^ w[t & 15], 1);
        if (t < 20)      { f = (b & c) | (~b & d); k = 0x5A827999; }
        else if (t < 40) { f = b ^ c ^ d; k = 0x6ED9EBA1; }
        else if (t < 60) { f = (b & c) | (b & d) | (c & d); k = 0x8F1BBCDC; }
        else             { f = b ^ c ^ d; k = 0xCA62C1D6; }
        unsigned tmp = ROL(a, 5) + f + e + k + w[t & 15];
        e = d; d = c; c = ROL(b, 30); b = a; a = tmp;
    }
    sha[i * 5] = a + 0x67452301; sha[i * 5 + 1] = b + 0xEFCDAB89; sha[i * 5 + 2] = c + 0x98BADCFE;
    sha[i * 5 + 3] = d + 0x10325476; sha[i * 5 + 4] = e + 0xC3D2E1F0;
    a = 0x67452301; b = 0xEFCDAB89; c = 0x98BADCFE; d = 0x10325476;
    for (int t = 0; t < 64; ++t) {
        int g;
        switch (t >> 4) {
        case 0: f = (b & c) | (~b & d); g = t; break;
        case 1: f = (d & b) | (~d & c); g = (5 * t + 1) & 15; break;
        case 2: f = b ^ c ^ d; g = (3 * t + 5) & 15; break;
        case 3: f = c ^ (b | ~d); g = (7 * t) & 15; break;
        }
        unsigned tmp = d;
        d = c; c = b;
        b += ROL(a + f + K5[t] + msg[i * 16 + g], shifts[(t >> 4) * 4 + (t & 3)]);
        a = tmp;
    }
    md5[i * 4] = a + 0x67452301; md5[i * 4 + 1] = b + 0xEFCDAB89; md5[i * 4 + 2] = c + 0x98BADCFE; md5[i * 4 + 3] = d + 0x10325476;
}
