// Arrivals at the mbarrier of another block: data is taken when it is said to be there
//
// family: clusters
// kernel: hand_over
// grid: 2
// block: 64
// args: int[4,64] iota; out int[4,64]

typedef unsigned long long barrier; // an mbarrier object
__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(barrier *b, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared(b)), "r"(count) : "memory");
}
__device__ void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
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
__device__ int load_remote(unsigned at)
{
    int v;
    asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(at) : "memory");
    return v;
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
__device__ void arrive_remote(unsigned b)
{
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(b) : "memory");
}
// block 0 gives, block 1 takes
extern "C" __global__ void __cluster_dims__(2, 1, 1) hand_over(const int *x, int *y)
{
    __shared__ int s[64];
    __shared__ barrier full, empty;
    int t = threadIdx.x;
    if (t == 0) {
        init(&full, 64);
        init(&empty, 64);
        fence_init();
    }
    cluster_sync();
    if (cluster_rank() == 0)
        for (int k = 0; k < 4; k++) {
            wait_cluster(&empty, k & 1 ^ 1);
            s[t] = x[64 * k + t] + k * 1000;
            arrive_remote(remote(&full, 1));
        }
    else
        for (int k = 0; k < 4; k++) {
            wait_cluster(&full, k & 1);
            y[64 * k + t] = load_remote(remote(&s[(t + 1) % 64], 0));
            arrive_remote(remote(&empty, 0));
        }
    cluster_sync();
}
