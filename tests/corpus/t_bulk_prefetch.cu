// A bulk prefetch into the L2, and a bulk copy with a cache policy
//
// family: bulk copies
// kernel: prefetch
// grid: 2
// block: 32
// args: float[2,64] uniform; out float[2,32]

typedef unsigned long long barrier; // an mbarrier object
__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(barrier *b, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared(b)), "r"(count) : "memory");
}
__device__ void arrive_expect(barrier *b, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(shared(b)), "r"(bytes) : "memory");
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
__device__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
extern "C" __global__ void prefetch(const float *x, float *y)
{
    __shared__ __align__(128) float s[64];
    __shared__ barrier full;
    int t = threadIdx.x;
    x += blockIdx.x * 64;
    if (t == 0) {
        unsigned long long policy;
        init(&full, 1);
        fence_async();
        asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" :: "l"(x), "r"(256) : "memory");
        arrive_expect(&full, 256);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
                     "[%0], [%1], %2, [%3], %4;"
                     :: "r"(shared(s)), "l"(x), "r"(256), "r"(shared(&full)), "l"(policy) : "memory");
    }
    __syncthreads();
    wait(&full, 0);
    y[blockIdx.x * 32 + t] = s[t] + s[63 - t];
}
