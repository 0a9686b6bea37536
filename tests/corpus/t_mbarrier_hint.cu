// mbarrier: try_wait with a time to suspend for, by token and by parity
//
// family: memory barriers
// kernel: hinted
// grid: 1
// block: 64
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
__device__ unsigned long long arrive_token(barrier *b)
{
    unsigned long long token;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(token) : "r"(shared(b)) : "memory");
    return token;
}
__device__ void wait_hinted(barrier *b, unsigned long long token)
{
    int done;
    do
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.acquire.cta.shared::cta.b64 p, [%1], %2, %3;\n\t"
                     "selp.s32 %0, 1, 0, p;\n\t}"
                     : "=r"(done) : "r"(shared(b)), "l"(token), "r"(1000) : "memory");
    while (!done);
}
__device__ void wait_parity(barrier *b, int parity)
{
    int done;
    do
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2, %3;\n\t"
                     "selp.s32 %0, 1, 0, p;\n\t}"
                     : "=r"(done) : "r"(shared(b)), "r"(parity), "r"(20) : "memory");
    while (!done);
}
extern "C" __global__ void hinted(const int *x, int *y)
{
    __shared__ int s[64], again[64];
    __shared__ barrier b;
    int t = threadIdx.x;
    if (t == 0) init(&b, 64);
    __syncthreads();
    s[t] = x[t];
    wait_hinted(&b, arrive_token(&b));
    again[t] = s[63 - t] * 2;
    arrive(&b);
    wait_parity(&b, 1);
    y[t] = again[(t + 33) % 64] - s[t];
}
