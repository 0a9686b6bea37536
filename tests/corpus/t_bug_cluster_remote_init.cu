// A block arrives at another's mbarrier before that is known to be initialised
//
// family: planted
// kernel: signal
// grid: 2
// block: 32
// planted: barrier, race, uninitialised, out of bounds
// args: out int[2,32]

typedef unsigned long long barrier; // an mbarrier object
__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(barrier *b, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared(b)), "r"(count) : "memory");
}
__device__ void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ bool try_wait(barrier *b, int parity)
{
    int done;
    asm volatile("{\n\t.reg .pred p;\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                 "selp.s32 %0, 1, 0, p;\n\t}"
                 : "=r"(done) : "r"(shared(b)), "r"(parity) : "memory");
    return done;
}
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
extern "C" __global__ void __cluster_dims__(2, 1, 1) signal(int *y)
{
    __shared__ barrier b;
    int t = threadIdx.x, n = 0;
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" :: "r"(shared(&b)) : "memory"); // fault
        fence_init();
    }
    __syncthreads(); // barrier.cluster would be right
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(remote(&b, cluster_rank() ^ 1)) : "memory"); // fault
    while (n < 100 && !try_wait(&b, 0)) n++;
    cluster_sync();
    y[blockIdx.x * 32 + t] = 1;
}
