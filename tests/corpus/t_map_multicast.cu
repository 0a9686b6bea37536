// Tensor copies for both blocks of a cluster, each of which copies half a box
//
// family: tensor copies
// kernel: load
// grid: 4
// block: 64
// args: map int[32,16] iota box 8,16; out int[4,256]

struct __align__(64) CUtensorMap { unsigned long long opaque[16]; };
typedef unsigned long long barrier; // an mbarrier object
__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(barrier *b, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared(b)), "r"(count) : "memory");
}
__device__ void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ void arrive_expect(barrier *b, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(shared(b)), "r"(bytes) : "memory");
}
__device__ bool try_wait(barrier *b, int parity)
{
    int done;
    asm volatile("{\n\t.reg .pred p;\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                 "selp.s32 %0, 1, 0, p;\n\t}"
                 : "=r"(done) : "r"(shared(b)), "r"(parity) : "memory");
    return done;
}
__device__ void wait(barrier *b, int parity)
{
    while (!try_wait(b, parity)) { }
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
extern "C" __global__ void __cluster_dims__(2, 1, 1) load(const __grid_constant__ CUtensorMap map, int *y)
{
    __shared__ __align__(128) int s[16][16];
    __shared__ barrier full;
    int t = threadIdx.x, half = 8 * cluster_rank();
    if (t == 0) {
        init(&full, 1);
        fence_init();
        arrive_expect(&full, sizeof s);
    }
    cluster_sync();
    if (t == 0)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1, {%2, %3}], [%4], %5;"
                     :: "r"(shared(s[half])), "l"(&map), "r"(0), "r"(blockIdx.x / 2 * 16 + half),
                        "r"(shared(&full)), "h"((short)3) : "memory");
    wait(&full, 0);
    for (int i = t; i < 256; i += 64) y[blockIdx.x * 256 + i] = s[i / 16][i % 16] * (1 + blockIdx.x);
    cluster_sync();
}
