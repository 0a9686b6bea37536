// Sums over a cluster of four blocks, in an order that is fixed
//
// family: clusters
// kernel: reduce
// grid: 8
// block: 64
// args: float[8,64] uniform; out float[8]; out float[2]

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
__device__ float load_remote(unsigned at)
{
    float v;
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(at) : "memory");
    return v;
}
extern "C" __global__ void __cluster_dims__(4, 1, 1) reduce(const float *x, float *of_block, float *of_cluster)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    for (int n = 32; n > 0; n /= 2) {
        __syncthreads();
        if (t < n) s[t] += s[t + n];
    }
    cluster_sync();
    if (t == 0) {
        of_block[blockIdx.x] = s[0];
        if (cluster_rank() == 0) {
            float sum = 0.f;
            for (int r = 0; r < 4; r++) sum += load_remote(remote(s, r));
            of_cluster[blockIdx.x / 4] = sum;
        }
    }
    cluster_sync();
}
