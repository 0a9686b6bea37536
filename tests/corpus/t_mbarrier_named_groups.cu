// Two mbarriers for two halves of a block that run apart
//
// family: memory barriers
// kernel: halves
// grid: 1
// block: 128
// args: int[128] below 50; out int[128]

typedef unsigned long long barrier; // an mbarrier object
__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(barrier *b, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared(b)), "r"(count) : "memory");
}
__device__ void arrive(barrier *b)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared(b)) : "memory");
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
__device__ void wait(barrier *b, int parity)
{
    while (!try_wait(b, parity)) { }
}
extern "C" __global__ void halves(const int *x, int *y)
{
    __shared__ int s[128];
    __shared__ barrier b[2];
    int t = threadIdx.x, half = t / 64;
    if (t < 2) init(&b[t], 64);
    __syncthreads();
    int rounds = half ? 3 : 5;
    s[t] = x[t];
    for (int k = 0; k < rounds; k++) {
        arrive(&b[half]);
        wait(&b[half], 0); // phases 0, 2, 4, … are those after s was written
        int v = s[half * 64 + (t + 1) % 64] + s[half * 64 + (t + 9) % 64];
        arrive(&b[half]);
        wait(&b[half], 1);
        s[t] = v & 0xffff;
    }
    y[t] = s[t];
}
