// An atomic addition that returns the old value, in the shared memory of another block
//
// family: clusters
// kernel: tickets
// grid: 4
// block: 32
// args: out int[4,32]; out int[4]

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
__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
// the address of the same variable in another block of the cluster
__device__ unsigned remote(const void *p, unsigned rank)
{
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared(p)), "r"(rank));
    return there;
}
extern "C" __global__ void __cluster_dims__(4, 1, 1) tickets(int *y, int *last)
{
    __shared__ int seen[128];
    __shared__ int next;
    int t = threadIdx.x;
    for (int i = t; i < 128; i += 32) seen[i] = 0;
    if (t == 0) next = 0;
    cluster_sync();
    int ticket;
    asm volatile("atom.relaxed.cluster.shared::cluster.add.s32 %0, [%1], 1;"
                 : "=r"(ticket) : "r"(remote(&next, 2)) : "memory");
    // each ticket is given once: all are marked, in whatever order they were drawn
    asm volatile("st.shared::cluster.s32 [%0], %1;" :: "r"(remote(&seen[ticket], 3)), "r"(1) : "memory");
    cluster_sync();
    if (t == 0) last[blockIdx.x] = next;
    int marked = 0;
    for (int i = t; i < 128; i += 32) marked += seen[i];
    y[blockIdx.x * 32 + t] = marked;
}
