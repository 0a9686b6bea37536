// mbarrier: half of the threads leave with arrive_drop
//
// family: memory barriers
// kernel: drop
// grid: 1
// block: 64
// args: int[64] below 100; out int[64]

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
extern "C" __global__ void drop(const int *x, int *y)
{
    __shared__ int s[64], again[32];
    __shared__ barrier b;
    int t = threadIdx.x;
    if (t == 0) init(&b, 64);
    __syncthreads();
    s[t] = x[t];
    if (t < 32) arrive(&b);
    else asm volatile("mbarrier.arrive_drop.shared::cta.b64 _, [%0];" :: "r"(shared(&b)) : "memory");
    wait(&b, 0);
    int v = s[63 - t];
    if (t < 32) {
        again[t] = v;
        arrive(&b);
        wait(&b, 1);
        v += again[31 - t];
    }
    y[t] = v;
}
