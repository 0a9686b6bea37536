// barrier.cluster with work between arriving and waiting
//
// family: clusters
// kernel: rounds
// grid: 4
// block: 64
// args: int[4,64] below 100; out int[4,64]

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
__device__ int load_remote(unsigned at)
{
    int v;
    asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(at) : "memory");
    return v;
}
__device__ void arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
__device__ void wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }
extern "C" __global__ void __cluster_dims__(2, 1, 1) rounds(const int *x, int *y)
{
    __shared__ int s[2][64];
    int t = threadIdx.x, v = x[blockIdx.x * 64 + t];
    unsigned other = cluster_rank() ^ 1;
    asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
    s[1][t] = 0;
    wait();
    for (int k = 0; k < 5; k++) {
        s[k & 1][t] = v;
        arrive();
        int own = v * v % 17; // meanwhile
        wait();
        v = own + load_remote(remote(&s[k & 1][(t + k) % 64], other));
    }
    y[blockIdx.x * 64 + t] = v;
    arrive();
    wait();
}
