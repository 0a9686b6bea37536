// Producer and consumer warps with named barriers in inline PTX
//
// family: barriers
// kernel: relay
// grid: 2
// block: 64
// args: int[2,5,32] below 1000; out int[2,5,32]; int 5
__device__ __forceinline__ void bar_sync(int id) { asm volatile("bar.sync %0, 64;" :: "r"(id) : "memory"); }
__device__ __forceinline__ void bar_arrive(int id) { asm volatile("bar.arrive %0, 64;" :: "r"(id) : "memory"); }
extern "C" __global__ void relay(const int *in, int *out, int rounds)
{
    __shared__ int buf[32];
    enum { FULL = 1, EMPTY = 2 };
    int lane = threadIdx.x % 32;
    in += blockIdx.x * rounds * 32;
    out += blockIdx.x * rounds * 32;
    if (threadIdx.x < 32) {
        for (int r = 0; r < rounds; ++r) {
            if (r) bar_sync(EMPTY);
            buf[lane] = in[r * 32 + lane] * 2;
            bar_arrive(FULL);
        }
    } else {
        for (int r = 0; r < rounds; ++r) {
            bar_sync(FULL);
            out[r * 32 + lane] = buf[lane] + buf[31 - lane];
            if (r + 1 < rounds) bar_arrive(EMPTY);
        }
    }
}
