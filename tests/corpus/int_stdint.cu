// Types of stdint.h: CRC32, Adler and FNV of strings of bytes
//
// family: integer
// kernel: checksums
// grid: 1
// block: 40
// headers: stdint.h
// args: uchar[40,25] bits; out uint[40]; out uint[40]; out ulong[40]; uint 25

#include <stdint.h>

extern "C" __global__ void checksums(const uint8_t *text, uint32_t *crc, uint32_t *adler, uint64_t *fnv, uint32_t n)
{
    const uint8_t *s = text + threadIdx.x * n;
    uint32_t c = UINT32_MAX, a = 1, b = 0;
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (uint32_t k = 0; k < n; ++k) {
        c ^= s[k];
        for (int j = 0; j < 8; ++j) c = (c >> 1) ^ (c & 1 ? UINT32_C(0xEDB88320) : 0);
        a = (a + s[k]) % 65521; b = (b + a) % 65521;
        h = (h ^ s[k]) * UINT64_C(0x100000001b3);
    }
    crc[threadIdx.x] = ~c; adler[threadIdx.x] = b << 16 | a; fnv[threadIdx.x] = h;
}
