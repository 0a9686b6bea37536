// A loop whose SLOTS multiply-adds are exchanged for others in the machine code, between two looks
// at the clock: benchmarks/operands.py. What they compute does not matter.
extern "C" __global__ void __launch_bounds__(THREADS)
timed(int rounds, volatile float* end, long long* clocks)
{
    if (rounds < 0) {  // asks for registers, and is never executed
        float x[REGISTERS];
        for (int i = 0; i < REGISTERS; ++i)
            x[i] = end[i];
        for (int i = REGISTERS - 1; i >= 0; --i)
            end[i] = x[i];
    }
    int thread;
    float x = __int_as_float(rounds);
    __syncthreads();
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    clocks[thread] = clock64();
    #pragma unroll 1
    do {
        #pragma unroll
        for (int i = 0; i < SLOTS; ++i)
            asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(x));
    } while (--rounds != 0);
    long long after = clock64();
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    clocks[THREADS + thread] = after;
    end[thread] = x;  // else ptxas leaves the loop out
}
