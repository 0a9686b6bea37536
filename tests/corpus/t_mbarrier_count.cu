// mbarrier: arrivals that count several times
//
// family: memory barriers
// kernel: counted
// grid: 1
// block: 96
// args: int[96] iota; out int[96]

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
__device__ void arrive_count(barrier *b, int count)
{
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0], %1;"
                 :: "r"(shared(b)), "r"(count) : "memory");
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
extern "C" __global__ void counted(const int *x, int *y)
{
    __shared__ int s[96];
    __shared__ barrier b;
    int t = threadIdx.x;
    if (t == 0) init(&b, 32 + 2 * 32 + 7);
    __syncthreads();
    s[t] = x[t] * x[t];
    if (t < 32) arrive(&b);
    else if (t < 64) arrive_count(&b, 2);
    else {
        __syncwarp();
        if (t == 64) arrive_count(&b, 7);
    }
    wait(&b, 0);
    y[t] = s[(t + 40) % 96];
}
