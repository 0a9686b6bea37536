// A block reads another's shared memory, which may have exited
//
// family: planted
// kernel: exchange
// grid: 2
// block: 64
// planted: out of bounds, barrier, race
// args: int[2,64] iota; out int[2,64]

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
extern "C" __global__ void __cluster_dims__(2, 1, 1) exchange(const int *x, int *y)
{
    __shared__ int s[64];
    int t = threadIdx.x, v;
    s[t] = x[blockIdx.x * 64 + t];
    cluster_sync();
    unsigned rank = cluster_rank();
    if (rank == 1) return; // barrier.cluster is missing before it
    asm volatile("nanosleep.u32 10000;");
    asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(remote(&s[63 - t], 1)) : "memory"); // fault
    y[t] = v;
    y[64 + t] = s[t];
}
