// mbarrier: seven phases, waited for by their parity
//
// family: memory barriers
// kernel: rotate
// grid: 1
// block: 96
// args: int[96] below 1000; out int[96]

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
extern "C" __global__ void rotate(const int *x, int *y)
{
    __shared__ int s[2][96];
    __shared__ barrier b;
    int t = threadIdx.x, v = x[t];
    if (t == 0) init(&b, 96);
    __syncthreads();
    for (int k = 0; k < 7; k++) {
        s[k & 1][t] = v;
        arrive(&b);
        wait(&b, k & 1);
        v = s[k & 1][(t + k + 1) % 96] + k;
    }
    y[t] = v;
}
