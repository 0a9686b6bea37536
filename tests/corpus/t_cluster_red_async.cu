// red.async: additions in another block that complete at its mbarrier
//
// family: clusters
// kernel: add
// grid: 2
// block: 64
// args: uint[2,64] below 1000; out uint[2,4]

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
#define RED(what, at, v)                                                                           \
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." what     \
                 " [%0], %1, [%2];" :: "r"(at), "r"(v), "r"(b) : "memory")
extern "C" __global__ void __cluster_dims__(2, 1, 1) add(const unsigned *x, unsigned *y)
{
    __shared__ unsigned s[4];
    __shared__ barrier full;
    int t = threadIdx.x;
    if (t == 0) {
        s[0] = 0;
        s[1] = 5000;
        s[2] = 0;
        s[3] = 0xffffffff;
        init(&full, 1);
        fence_init();
        arrive_expect(&full, 64 * 16);
    }
    cluster_sync();
    unsigned other = cluster_rank() ^ 1, b = remote(&full, other);
    unsigned v = x[blockIdx.x * 64 + t];
    RED("add.u32", remote(&s[0], other), v);
    RED("min.u32", remote(&s[1], other), v);
    RED("or.b32", remote(&s[2], other), v);
    RED("and.b32", remote(&s[3], other), v | 0xffff0000);
    wait_cluster(&full, 0);
    if (t < 4) y[blockIdx.x * 4 + t] = s[t];
    cluster_sync();
}
