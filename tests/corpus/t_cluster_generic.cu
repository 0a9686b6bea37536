// Generic addresses of another block's shared memory: mapa, getctarank, isspacep
//
// family: clusters
// kernel: generic
// grid: 4
// block: 32
// args: int[4,32] iota; out int[4,32]; out uint[4,6]

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
extern "C" __global__ void __cluster_dims__(4, 1, 1) generic(const int *x, int *y, unsigned *said)
{
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 32 + t];
    cluster_sync();
    unsigned there = (cluster_rank() + 3) % 4, rank, again, own;
    int *p;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(p) : "l"(s), "r"(there));
    y[blockIdx.x * 32 + t] = p[31 - t];
    asm volatile("getctarank.u64 %0, %1;" : "=r"(rank) : "l"(p));
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(again) : "r"(remote(s, there)));
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(own) : "r"(shared(s)));
    int is[3];
    asm volatile("{\n\t.reg .pred p;\n\tisspacep.shared::cluster p, %1;\n\tselp.s32 %0, 1, 0, p;\n\t}"
                 : "=r"(is[0]) : "l"(p));
    asm volatile("{\n\t.reg .pred p;\n\tisspacep.shared::cta p, %1;\n\tselp.s32 %0, 1, 0, p;\n\t}"
                 : "=r"(is[1]) : "l"(p));
    asm volatile("{\n\t.reg .pred p;\n\tisspacep.shared::cta p, %1;\n\tselp.s32 %0, 1, 0, p;\n\t}"
                 : "=r"(is[2]) : "l"(s));
    if (t == 0) {
        said += 6 * blockIdx.x;
        said[0] = rank;
        said[1] = again;
        said[2] = own;
        for (int i = 0; i < 3; i++) said[3 + i] = is[i];
    }
    cluster_sync();
}
