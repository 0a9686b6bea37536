// A block reads another's shared memory before that has stored to it
//
// family: planted
// kernel: exchange
// grid: 4
// block: 64
// planted: race, uninitialised, out of bounds
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
extern "C" __global__ void __cluster_dims__(2, 1, 1) exchange(const int *x, int *y)
{
    __shared__ int s[64];
    int t = threadIdx.x, v;
    s[t] = x[blockIdx.x * 64 + t]; // fault
    __syncthreads(); // barrier.cluster would be right
    asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(remote(&s[63 - t], cluster_rank() ^ 1)) : "memory"); // fault
    y[blockIdx.x * 64 + t] = v;
    cluster_sync();
}
