// A block transposes by storing into the shared memory of four blocks
//
// family: clusters
// kernel: push
// grid: 4
// block: 64
// args: int[4,64] iota; out int[4,64]

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
extern "C" __global__ void __cluster_dims__(4, 1, 1) push(const int *x, int *y)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    unsigned rank = cluster_rank();
    s[t] = -1;
    cluster_sync(); // all blocks run, and have written their -1
    unsigned at = remote(&s[rank * 16 + t / 4], t % 4);
    asm volatile("st.shared::cluster.s32 [%0], %1;" :: "r"(at), "r"(x[blockIdx.x * 64 + t]) : "memory");
    cluster_sync();
    y[blockIdx.x * 64 + t] = s[t];
}
