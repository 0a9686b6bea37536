// Bulk copies from the shared memory of one block to that of its neighbour
//
// family: clusters
// kernel: send
// grid: 4
// block: 64
// args: float[4,64] uniform; out float[4,64]

typedef unsigned long long barrier; // an mbarrier object
__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(barrier *b, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared(b)), "r"(count) : "memory");
}
__device__ void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
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
// the address of the same variable in another block of the cluster
__device__ unsigned remote(const void *p, unsigned rank)
{
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared(p)), "r"(rank));
    return there;
}
__device__ void wait_cluster(barrier *b, int parity)
{
    int done;
    do
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.s32 %0, 1, 0, p;\n\t}"
                     : "=r"(done) : "r"(shared(b)), "r"(parity) : "memory");
    while (!done);
}
extern "C" __global__ void __cluster_dims__(4, 1, 1) send(const float *x, float *y)
{
    __shared__ __align__(128) float mine[64], got[64];
    __shared__ barrier full;
    int t = threadIdx.x;
    mine[t] = x[blockIdx.x * 64 + t] * 2.f;
    fence_async();
    if (t == 0) {
        init(&full, 1);
        fence_init();
        arrive_expect(&full, 256);
    }
    cluster_sync();
    if (t == 0) {
        unsigned next = (cluster_rank() + 1) % 4;
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     :: "r"(remote(got, next)), "r"(shared(mine)), "r"(256), "r"(remote(&full, next)) : "memory");
    }
    wait_cluster(&full, 0);
    y[blockIdx.x * 64 + t] = got[t] - mine[t];
    cluster_sync();
}
