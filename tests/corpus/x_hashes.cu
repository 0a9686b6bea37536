// Murmur3, FNV-1a, Jenkins and djb2 of records of bytes
//
// family: hashing
// kernel: hashes
// grid: 2
// block: 32
// args: uchar[45,22] bits; int 45; int 22; out uint[45,4]; out ulong[45]
__device__ unsigned rotl(unsigned x, int r) { return (x << r) | (x >> (32 - r)); }
__device__ unsigned murmur3(const unsigned char *key, int len, unsigned h)
{
    const int blocks = len / 4;
    for (int i = 0; i < blocks; ++i) {
        unsigned k = key[4 * i] | key[4 * i + 1] << 8 | key[4 * i + 2] << 16 | (unsigned)key[4 * i + 3] << 24;
        k *= 0xcc9e2d51; k = rotl(k, 15); k *= 0x1b873593;
        h ^= k; h = rotl(h, 13); h = h * 5 + 0xe6546b64;
    }
    unsigned k = 0;
    switch (len & 3) {
    case 3: k ^= key[4 * blocks + 2] << 16;
    case 2: k ^= key[4 * blocks + 1] << 8;
    case 1: k ^= key[4 * blocks];
            k *= 0xcc9e2d51; k = rotl(k, 15); k *= 0x1b873593; h ^= k;
    }
    h ^= len; h ^= h >> 16; h *= 0x85ebca6b; h ^= h >> 13; h *= 0xc2b2ae35; h ^= h >> 16;
    return h;
}
extern "C" __global__ void hashes(const unsigned char *data, int n, int len, unsigned *out, unsigned long long *fnv)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned char *p = data + i * len;
    int own = len - i % 4;
    out[4 * i] = murmur3(p, own, 0x9747b28c);
    unsigned f = 2166136261u, d = 5381, j = 0;
    unsigned long long f64 = 14695981039346656037ull;
    for (const unsigned char *q = p; q != p + own; ++q) {
        f = (f ^ *q) * 16777619u;
        f64 = (f64 ^ *q) * 1099511628211ull;
        d = ((d << 5) + d) + *q;
        j += *q; j += j << 10; j ^= j >> 6;
    }
    j += j << 3; j ^= j >> 11; j += j << 15;
    out[4 * i + 1] = f; out[4 * i + 2] = d; out[4 * i + 3] = j;
    fnv[i] = f64;
}
