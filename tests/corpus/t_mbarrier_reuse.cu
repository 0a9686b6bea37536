// mbarrier: invalidated, and its bytes used for data and for another mbarrier
//
// family: memory barriers
// kernel: reuse
// grid: 1
// block: 64
// args: int[64] iota; out int[64]

typedef unsigned long long barrier; // an mbarrier object
__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(barrier *b, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared(b)), "r"(count) : "memory");
}
__device__ void inval(barrier *b)
{
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(shared(b)) : "memory");
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
extern "C" __global__ void reuse(const int *x, int *y)
{
    __shared__ int s[64];
    __shared__ barrier b;
    int t = threadIdx.x;
    if (t == 0) init(&b, 64);
    __syncthreads();
    s[t] = x[t] + 1;
    arrive(&b);
    wait(&b, 0);
    int v = s[t ^ 1];
    __syncthreads();
    if (t == 0) {
        inval(&b);
        b = 12345678901234567ull;
        v += (int)(b % 1000);
        init(&b, 2);
    }
    __syncthreads();
    s[t] = v;
    __syncwarp();
    if (t % 32 == 5) arrive(&b);
    wait(&b, 0);
    y[t] = s[63 - t];
}
