// A bulk copy for blocks 1 and 3 of a cluster of four
//
// family: clusters
// kernel: multicast
// grid: 4
// block: 32
// args: int[32] iota; out int[4,32]

typedef unsigned long long barrier; // an mbarrier object
__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(barrier *b, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared(b)), "r"(count) : "memory");
}
__device__ void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ void arrive_expect(barrier *b, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(shared(b)), "r"(bytes) : "memory");
}
__device__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}
__device__ unsigned cluster_rank()
{
    unsigned r;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
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
extern "C" __global__ void __cluster_dims__(4, 1, 1) multicast(const int *x, int *y)
{
    __shared__ __align__(128) int s[32];
    __shared__ barrier full;
    int t = threadIdx.x, rank = cluster_rank();
    s[t] = -rank;
    if (t == 0) {
        init(&full, 1);
        fence_init();
        arrive_expect(&full, rank & 1 ? 128 : 0);
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    cluster_sync();
    if (t == 0 && rank == 2)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1], %2, [%3], %4;"
                     :: "r"(shared(s)), "l"(x), "r"(128), "r"(shared(&full)), "h"((short)10) : "memory");
    wait(&full, 0);
    y[blockIdx.x * 32 + t] = s[t];
    cluster_sync();
}
