// mbarrier: bytes that are expected, and completed by hand
//
// family: memory barriers
// kernel: bytes
// grid: 1
// block: 64
// args: int[64] iota; out int[64]; out int[4]

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
__device__ bool test_parity(barrier *b, int parity)
{
    int done;
    asm volatile("{\n\t.reg .pred p;\n\t"
                 "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                 "selp.s32 %0, 1, 0, p;\n\t}"
                 : "=r"(done) : "r"(shared(b)), "r"(parity) : "memory");
    return done;
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
extern "C" __global__ void bytes(const int *x, int *y, int *seen)
{
    __shared__ int s[64];
    __shared__ barrier b;
    int t = threadIdx.x;
    unsigned at = shared(&b);
    s[t] = x[t] + 5;
    if (t == 0) init(&b, 1);
    __syncthreads();
    if (t == 0) {
        asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" :: "r"(at), "r"(96) : "memory");
        arrive(&b);
        seen[0] = test_parity(&b, 0);
        asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" :: "r"(at), "r"(64) : "memory");
        seen[1] = test_parity(&b, 0);
        asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" :: "r"(at), "r"(32) : "memory");
        seen[2] = test_parity(&b, 0);
        seen[3] = test_parity(&b, 1);
    }
    wait(&b, 0);
    y[t] = s[63 - t];
}
