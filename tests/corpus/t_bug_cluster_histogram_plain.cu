// Two blocks add to the same shared memory without atomics
//
// family: planted
// kernel: histogram
// grid: 2
// block: 64
// planted: race
// args: int[2,64] below 32; out int[32]

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
extern "C" __global__ void __cluster_dims__(2, 1, 1) histogram(const int *x, int *y)
{
    __shared__ int bins[32];
    int t = threadIdx.x, v;
    if (t < 32) bins[t] = 0;
    cluster_sync();
    unsigned at = remote(&bins[x[blockIdx.x * 64 + t]], 0);
    asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(at) : "memory"); // fault
    asm volatile("st.shared::cluster.s32 [%0], %1;" :: "r"(at), "r"(v + 1) : "memory"); // fault
    cluster_sync();
    if (cluster_rank() == 0 && t < 32) y[t] = bins[t];
    cluster_sync();
}
