// Bulk copies in three stages with full and empty mbarriers
//
// family: bulk copies
// kernel: pipeline
// grid: 2
// block: 96
// args: float[2,8,128] uniform; out float[2,64]

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
__device__ void arrive(barrier *b)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared(b)) : "memory");
}
__device__ void bulk_load(void *to, const void *from, int bytes, barrier *b)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :: "r"(shared(to)), "l"(from), "r"(bytes), "r"(shared(b)) : "memory");
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
extern "C" __global__ void pipeline(const float *x, float *y)
{
    __shared__ __align__(128) float stage[3][128];
    __shared__ barrier full[3], empty[3];
    int t = threadIdx.x;
    x += blockIdx.x * 1024;
    if (t == 0) {
        for (int i = 0; i < 3; i++) {
            init(&full[i], 1);
            init(&empty[i], 64);
        }
        fence_init();
    }
    __syncthreads();
    if (t >= 64) { // the warp that copies
        if (t == 64)
            for (int k = 0, i = 0, parity = 1; k < 8; k++) {
                wait(&empty[i], parity);
                arrive_expect(&full[i], 512);
                bulk_load(stage[i], x + 128 * k, 512, &full[i]);
                if (++i == 3) i = 0, parity ^= 1;
            }
        return;
    }
    float sum = 0.f;
    for (int k = 0, i = 0, parity = 0; k < 8; k++) {
        wait(&full[i], parity);
        sum = sum * 0.75f + stage[i][t] - stage[i][127 - t];
        arrive(&empty[i]);
        if (++i == 3) i = 0, parity ^= 1;
    }
    y[blockIdx.x * 64 + t] = sum;
}
