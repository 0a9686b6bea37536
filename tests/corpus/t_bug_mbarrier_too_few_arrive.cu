// An mbarrier that counts 64 arrivals, and half of the threads arrive
//
// family: planted
// kernel: swap
// grid: 1
// block: 64
// planted: barrier
// args: int[64] iota; out int[64]

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
extern "C" __global__ void swap(const int *x, int *y)
{
    __shared__ int s[64];
    __shared__ barrier b;
    int t = threadIdx.x, done;
    if (t == 0) init(&b, 64);
    __syncthreads();
    s[t] = x[t];
    if (t < 32) arrive(&b); // all of them should
    do
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.s32 %0, 1, 0, p;}" : "=r"(done) : "r"(shared(&b)) : "memory"); // fault
    while (!done); // fault
    y[t] = s[63 - t];
}
