// cp.async of fewer bytes than it writes: the rest is filled with zeros
//
// family: cp.async
// kernel: fill
// grid: 1
// block: 96
// args: uint[96,8] bits; out uint[96,8]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }
extern "C" __global__ void fill(const unsigned *x, unsigned *y)
{
    __shared__ __align__(16) unsigned s[96][8];
    int t = threadIdx.x;
    x += 8 * t;
    for (int i = 0; i < 8; i++) s[t][i] = 0xaaaaaaaa;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(shared(&s[t][0])), "l"(x), "r"(t % 17) : "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;"
                 :: "r"(shared(&s[t][4])), "l"(x + 4), "r"(t % 9) : "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :: "r"(shared(&s[t][6])), "l"(x + 6), "r"(t % 5) : "memory");
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.s32 p, %2, 0;\n\t"
                 "cp.async.ca.shared.global [%0], [%1], 4, p;\n\t}"
                 :: "r"(shared(&s[t][7])), "l"(x + 7), "r"(t & 1) : "memory");
    wait_all();
    for (int i = 0; i < 8; i++) y[8 * t + i] = s[t][i];
}
