// Who issues when: a frame whose REST stores in a row `scheduler.py` exchanges, in the machine code,
// for what is to be timed. So the compiler orders nothing of it.

#ifndef REST
#define REST 8
#endif
#ifndef LOADS
#define LOADS 1  // from shared memory, or 2 from L2
#endif

#define TIMES 32
#define ROW 34  // of a warp: its number, its slot on the SM, TIMES times

__device__ __forceinline__ int now()
{
    int cycle;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(cycle) :: "memory");
    return cycle;
}

// Does nothing that the compiler would leave out: one instruction of machine code.
__device__ __forceinline__ void rest(int* shared)
{
    asm volatile("st.volatile.shared.s32 [%0], %0;"
                 :: "r"((unsigned)__cvta_generic_to_shared(shared)) : "memory");
}

// A block of 128 threads for each warp that is timed: the others, of other schedulers, end at once.
extern "C" __global__ void order(const int* zero, int passes, int* out)
{
    __shared__ int s_rest[32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (warp % 4)
        return;
    s_rest[lane] = 0;
    int* row = out + warp / 4 * ROW;
    #pragma unroll 1
    for (int pass = 0; pass < passes; ++pass) {
        asm volatile("bar.sync 1, %0;" :: "r"(blockDim.x / 4) : "memory");
        int times[TIMES], value, slot;
        #pragma unroll
        for (int n = 0; n < REST; ++n)
            rest(&s_rest[lane]);
        #pragma unroll
        for (int n = 0; n < TIMES; ++n)
            times[n] = now();
        #if LOADS == 2
        asm volatile("ld.global.cg.s32 %0, [%1];" : "=r"(value) : "l"(zero) : "memory");
        #else
        asm volatile("ld.volatile.shared.s32 %0, [%1];" : "=r"(value)
                     : "r"((unsigned)__cvta_generic_to_shared(&s_rest[lane])) : "memory");
        #endif
        asm volatile("mov.u32 %0, %%warpid;" : "=r"(slot));
        row[0] = value < 0 ? -1 : warp;  // so that it is needed
        if (lane == 0) {
            row[1] = slot;
            for (int n = 0; n < TIMES; ++n)
                row[2 + n] = times[n];
        }
    }
}
