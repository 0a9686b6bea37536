// mbarrier: what test_wait says of both parities, before and after two phases
//
// family: memory barriers
// kernel: look
// grid: 1
// block: 32
// args: out int[9]

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
__device__ unsigned long long arrive_token(barrier *b)
{
    unsigned long long token;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(token) : "r"(shared(b)) : "memory");
    return token;
}
__device__ bool test(barrier *b, unsigned long long token)
{
    int done;
    asm volatile("{\n\t.reg .pred p;\n\t"
                 "mbarrier.test_wait.shared::cta.b64 p, [%1], %2;\n\t"
                 "selp.s32 %0, 1, 0, p;\n\t}"
                 : "=r"(done) : "r"(shared(b)), "l"(token) : "memory");
    return done;
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
extern "C" __global__ void look(int *y)
{
    __shared__ barrier b;
    if (threadIdx.x) return;
    init(&b, 2);
    y[0] = test_parity(&b, 0);
    y[1] = test_parity(&b, 1);
    unsigned long long token = arrive_token(&b);
    y[2] = test(&b, token);
    arrive(&b);
    y[3] = test(&b, token);
    y[4] = test_parity(&b, 0);
    y[5] = test_parity(&b, 1);
    token = arrive_token(&b);
    y[6] = test(&b, token);
    arrive(&b);
    y[7] = test_parity(&b, 0);
    y[8] = test_parity(&b, 1);
}
