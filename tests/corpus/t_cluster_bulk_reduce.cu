// Bulk copies into the shared memory of the other block of a cluster, and one that adds there
//
// family: clusters
// kernel: across
// grid: 4
// block: 64
// args: int[4,128] iota; out int[4,128]; out int[4,128]

typedef unsigned long long barrier; // an mbarrier object
__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(barrier *b, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared(b)), "r"(count) : "memory");
}
__device__ void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ void fence_async() { asm volatile("fence.proxy.async;" ::: "memory"); }
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
extern "C" __global__ void __cluster_dims__(2, 1, 1) across(const int *x, int *y, int *sum)
{
    __shared__ __align__(128) int from[128], to[128], added[128];
    __shared__ barrier full;
    int t = threadIdx.x, first = blockIdx.x * 128;
    for (int i = t; i < 128; i += 64) {
        from[i] = x[first + i] * 7;
        to[i] = -1;
        added[i] = 1000 * i;
    }
    if (t == 0) {
        init(&full, 1);
        fence_init();
        arrive_expect(&full, 384 + 512);
    }
    fence_async();
    cluster_sync();
    if (t == 0) {
        unsigned other = cluster_rank() ^ 1, there = remote(&full, other);
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     :: "r"(remote(to, other)), "r"(shared(from + 32)), "r"(384), "r"(there) : "memory");
        asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.s32 "
                     "[%0], [%1], %2, [%3];"
                     :: "r"(remote(added, other)), "r"(shared(from)), "r"(512), "r"(there) : "memory");
    }
    wait_cluster(&full, 0);
    for (int i = t; i < 128; i += 64) {
        y[first + i] = to[i];
        sum[first + i] = added[i];
    }
    cluster_sync();
}
