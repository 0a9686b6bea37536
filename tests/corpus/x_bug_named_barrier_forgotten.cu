// A producer that goes on to its next barrier without the consumers
//
// family: planted
// kernel: relay
// grid: 1
// block: 64
// args: int[96] iota; out int[96]
// planted: race
extern "C" __global__ void relay(const int *in, int *out)
{
    __shared__ int buf[32];
    int lane = threadIdx.x & 31;
    for (int r = 0; r < 3; ++r) {
        if (threadIdx.x < 32) {
            buf[lane] = in[r * 32 + lane]; // fault
            asm volatile("bar.arrive %0, 64;" :: "r"(1 + r) : "memory");
        } else {
            asm volatile("bar.sync %0, 64;" :: "r"(1 + r) : "memory");
            out[r * 32 + lane] = buf[31 - lane]; // fault
        }
    }
}
