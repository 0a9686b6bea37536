// mbarrier: arrivals that do not complete a phase, and how many are pending
//
// family: memory barriers
// kernel: pending
// grid: 1
// block: 32
// args: out int[6]

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
__device__ int arrive_no_complete(barrier *b, int count)
{
    unsigned long long token;
    int left;
    asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], %2;"
                 : "=l"(token) : "r"(shared(b)), "r"(count) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(left) : "l"(token));
    return left;
}
extern "C" __global__ void pending(int *y)
{
    __shared__ barrier b;
    if (threadIdx.x) return;
    init(&b, 10);
    y[0] = arrive_no_complete(&b, 1);
    y[1] = arrive_no_complete(&b, 5);
    y[2] = arrive_no_complete(&b, 3);
    y[3] = test_parity(&b, 0);
    arrive(&b);
    y[4] = test_parity(&b, 0);
    y[5] = arrive_no_complete(&b, 2);
}
