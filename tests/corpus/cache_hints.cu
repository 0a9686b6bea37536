// Loads and stores with hints: __ldg, __ldcs, __ldcg, __stcs, __stwt, prefetch and L2 policy in PTX
//
// family: memory
// kernel: hints
// grid: 2
// block: 64
// args: float[128] uniform; float[128,4] uniform; out float[128]; out float[128,4]

extern "C" __global__ void hints(const float *x, const float4 *v, float *y, float4 *w)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    asm volatile("prefetch.global.L2 [%0];" :: "l"(x + i));
    float a = __ldg(x + i) + __ldcs(x + (i ^ 1)) * 2 + __ldcg(x + 127 - i), b;
    asm("ld.global.nc.L1::no_allocate.f32 %0, [%1];" : "=f"(b) : "l"(x + (i * 7 & 127)));
    __stcs(y + i, a - b);
    float4 f = __ldg(v + i);
    f.w += f.x;
    __stwt(w + i, f);
}
