// match_any, match_all and the integer reductions of a warp
//
// family: warp
// kernel: matches
// grid: 2
// block: 32
// args: int[64] below 5; out uint[9,64]

extern "C" __global__ void matches(const int *x, unsigned *r)
{
    int i = blockIdx.x * 32 + threadIdx.x, v = x[i], all;
    r[i] = __match_any_sync(0xffffffffu, v);
    r[64 + i] = __match_all_sync(0xffffffffu, v / 5, &all) + all;
    r[128 + i] = __reduce_add_sync(0xffffffffu, v);
    r[192 + i] = __reduce_min_sync(0xffffffffu, v - 3);
    r[256 + i] = __reduce_max_sync(0xffffffffu, (unsigned)v);
    r[320 + i] = __reduce_and_sync(0xffffffffu, v | 8u);
    r[384 + i] = __reduce_or_sync(0xffffffffu, 1u << v);
    r[448 + i] = __reduce_xor_sync(0xffffffffu, (unsigned)v * 77u);
    r[512 + i] = (unsigned)__match_any_sync(0xffffffffu, (long long)v << 40);
}
