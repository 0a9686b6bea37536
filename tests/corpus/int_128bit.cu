// 128-bit integers: __int128 sums, products and shifts, and add with carry in PTX
//
// family: integer
// kernel: big
// grid: 1
// block: 64
// options: --device-int128
// args: ulong[64,2] bits; ulong[64,2] bits; out ulong[5,64,2]

extern "C" __global__ void big(const ulonglong2 *x, const ulonglong2 *y, ulonglong2 *r)
{
    int i = threadIdx.x;
    unsigned __int128 a = ((unsigned __int128)x[i].y << 64) | x[i].x, b = ((unsigned __int128)y[i].y << 64) | y[i].x;
    auto put = [&](int k, unsigned __int128 v) {
        r[64 * k + i] = make_ulonglong2((unsigned long long)v, (unsigned long long)(v >> 64));
    };
    put(0, a + b);
    put(1, a - b);
    put(2, a * b);
    put(3, (a >> (i * 2 % 128)) ^ (b << (i % 128)));
    ulonglong2 c;
    asm("add.cc.u64 %0, %2, %4;\n\taddc.u64 %1, %3, %5;"
        : "=l"(c.x), "=l"(c.y) : "l"(x[i].x), "l"(x[i].y), "l"(y[i].x), "l"(y[i].y));
    r[256 + i] = c;
}
