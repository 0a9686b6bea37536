// Other warps use an mbarrier before it is known to be initialised
//
// family: planted
// kernel: swap
// grid: 1
// block: 64
// planted: barrier, race, uninitialised
// args: int[64] iota; out int[64]

typedef unsigned long long barrier; // an mbarrier object
__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(barrier *b, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared(b)), "r"(count) : "memory");
}
__device__ bool try_wait(barrier *b, int parity)
{
    int done;
    asm volatile("{\n\t.reg .pred p;\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                 "selp.s32 %0, 1, 0, p;\n\t}"
                 : "=r"(done) : "r"(shared(b)), "r"(parity) : "memory");
    return done;
}
extern "C" __global__ void swap(const int *x, int *y)
{
    __shared__ int s[64];
    __shared__ barrier b;
    int t = threadIdx.x;
    if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" :: "r"(shared(&b)) : "memory"); // fault
    s[t] = x[t]; // __syncthreads() is missing
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared(&b)) : "memory"); // fault
    for (int n = 0; n < 100 && !try_wait(&b, 0); n++) { }
    y[t] = s[63 - t]; // fault
}
