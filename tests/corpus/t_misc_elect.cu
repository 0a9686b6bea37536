// elect.sync: one lane of those that take part
//
// family: roles of warps
// kernel: elect_some
// grid: 2
// block: 64
// args: out uint[2,64,3]


__device__ unsigned elect(unsigned mask, unsigned &leader)
{
    unsigned chosen;
    asm volatile("{\n\t.reg .pred p;\n\telect.sync %0|p, %2;\n\tselp.u32 %1, 1, 0, p;\n\t}"
                 : "=r"(leader), "=r"(chosen) : "r"(mask));
    return chosen;
}
extern "C" __global__ void elect_some(unsigned *y)
{
    int lane = threadIdx.x % 32;
    y += 3 * (blockIdx.x * 64 + threadIdx.x);
    unsigned leader, chosen = elect(0xffffffff, leader);
    y[0] = chosen * 100 + leader;
    if (lane % 3 == 1) {
        chosen = elect(0x92492492, leader);
        y[1] = chosen * 100 + leader;
    } else {
        chosen = elect(0x6db6db6d, leader);
        y[2] = chosen * 100 + leader;
    }
}
