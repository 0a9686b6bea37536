// Bulk copies from shared memory to shared memory, and one that adds
//
// family: bulk copies
// kernel: within
// grid: 1
// block: 64
// args: int[128] iota; out int[128]; out int[128]

typedef unsigned long long barrier; // an mbarrier object
__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(barrier *b, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared(b)), "r"(count) : "memory");
}
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
__device__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
extern "C" __global__ void within(const int *x, int *y, int *sum)
{
    __shared__ __align__(128) int from[128], to[128], added[128];
    __shared__ barrier full;
    int t = threadIdx.x;
    for (int i = t; i < 128; i += 64) {
        from[i] = x[i] * 7;
        to[i] = -1;
        added[i] = 1000 * i;
    }
    if (t == 0) init(&full, 1);
    fence_async();
    __syncthreads();
    if (t == 0) {
        arrive_expect(&full, 384 + 512);
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     :: "r"(shared(to)), "r"(shared(from + 32)), "r"(384), "r"(shared(&full)) : "memory");
        asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.s32 "
                     "[%0], [%1], %2, [%3];"
                     :: "r"(shared(added)), "r"(shared(from)), "r"(512), "r"(shared(&full)) : "memory");
    }
    wait(&full, 0);
    for (int i = t; i < 128; i += 64) {
        y[i] = to[i];
        sum[i] = added[i];
    }
}
