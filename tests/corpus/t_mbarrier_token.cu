// mbarrier: arrive, and test_wait with the token
//
// family: memory barriers
// kernel: swap
// grid: 2
// block: 64
// args: int[2,64] iota; out int[2,64]

typedef unsigned long long barrier; // an mbarrier object
__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(barrier *b, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared(b)), "r"(count) : "memory");
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
extern "C" __global__ void swap(const int *x, int *y)
{
    __shared__ int s[64];
    __shared__ barrier b;
    int t = threadIdx.x;
    if (t == 0) init(&b, 64);
    __syncthreads();
    s[t] = 3 * x[blockIdx.x * 64 + t];
    unsigned long long token = arrive_token(&b);
    while (!test(&b, token)) { }
    y[blockIdx.x * 64 + t] = s[63 - t];
}
