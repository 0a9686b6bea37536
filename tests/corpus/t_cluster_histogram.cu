// A histogram whose bins lie in the shared memory of two blocks
//
// family: clusters
// kernel: histogram
// grid: 2
// block: 96
// args: int[2,96,8] below 256; out int[256]

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
    __shared__ int bins[128];
    int t = threadIdx.x;
    for (int i = t; i < 128; i += 96) bins[i] = 0;
    cluster_sync();
    for (int i = 0; i < 8; i++) {
        int v = x[(blockIdx.x * 96 + t) * 8 + i];
        asm volatile("red.relaxed.cluster.shared::cluster.add.s32 [%0], 1;"
                     :: "r"(remote(&bins[v % 128], v / 128)) : "memory");
    }
    cluster_sync();
    for (int i = t; i < 128; i += 96) y[cluster_rank() * 128 + i] = bins[i];
}
