// st.async: words for another block that complete at its mbarrier
//
// family: clusters
// kernel: send
// grid: 4
// block: 32
// args: int[4,32,4] iota; out int[4,32,8]

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
extern "C" __global__ void __cluster_dims__(2, 1, 1) send(const int *x, int *y)
{
    __shared__ __align__(16) int s[32][8];
    __shared__ barrier full;
    int t = threadIdx.x;
    for (int i = 0; i < 8; i++) s[t][i] = -1;
    if (t == 0) {
        init(&full, 1);
        fence_init();
        arrive_expect(&full, 32 * 28);
    }
    cluster_sync();
    unsigned to = remote(s[31 - t], cluster_rank() ^ 1), b = remote(&full, cluster_rank() ^ 1);
    x += (blockIdx.x * 32 + t) * 4;
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.s32 [%0], {%1, %2, %3, %4}, [%5];"
                 :: "r"(to), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(b) : "memory");
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                 :: "r"(to + 16), "r"(x[0] * 2), "r"(b) : "memory");
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];"
                 :: "r"(to + 24), "l"((long long)x[1] << 32 | x[3]), "r"(b) : "memory");
    wait_cluster(&full, 0);
    for (int i = 0; i < 8; i++) y[(blockIdx.x * 32 + t) * 8 + i] = s[t][i];
    cluster_sync();
}
