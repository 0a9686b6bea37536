// Producer and consumer warps with named barriers: bar.arrive and bar.sync
//
// family: memory order
// kernel: pipeline
// grid: 2
// block: 64
// args: int[2,8,32] below 1000; out int[2,8,32]

extern "C" __global__ void pipeline(const int* in, int* out)
{
    __shared__ int buffer[2][32];
    int lane = threadIdx.x % 32;
    in += blockIdx.x * 256; out += blockIdx.x * 256;
    if (threadIdx.x < 32) {
        for (int i = 0; i < 8; i++) {
            asm volatile("bar.sync %0, 64;" :: "r"(3 + i % 2) : "memory");
            buffer[i % 2][lane] = in[i * 32 + lane];
            asm volatile("bar.arrive %0, 64;" :: "r"(1 + i % 2) : "memory");
        }
    } else {
        asm volatile("bar.arrive 3, 64;" ::: "memory");
        asm volatile("bar.arrive 4, 64;" ::: "memory");
        for (int i = 0; i < 8; i++) {
            asm volatile("bar.sync %0, 64;" :: "r"(1 + i % 2) : "memory");
            out[i * 32 + lane] = 2 * buffer[i % 2][31 - lane];
            if (i < 6) asm volatile("bar.arrive %0, 64;" :: "r"(3 + i % 2) : "memory");
        }
    }
}
