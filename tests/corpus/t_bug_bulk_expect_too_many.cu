// An mbarrier that expects more bytes than come: its phase never ends
//
// family: planted
// kernel: load
// grid: 1
// block: 32
// planted: barrier
// args: float[64] uniform; out float[32]

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
__device__ void bulk_load(void *to, const void *from, int bytes, barrier *b)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :: "r"(shared(to)), "l"(from), "r"(bytes), "r"(shared(b)) : "memory");
}
extern "C" __global__ void load(const float *x, float *y)
{
    __shared__ __align__(128) float s[64];
    __shared__ barrier full;
    int t = threadIdx.x, done;
    if (t == 0) {
        init(&full, 1);
        fence_init();
        arrive_expect(&full, 320); // 256 would be right
        bulk_load(s, x, 256, &full);
    }
    __syncthreads();
    do
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.s32 %0, 1, 0, p;}" : "=r"(done) : "r"(shared(&full)) : "memory"); // fault
    while (!done); // fault
    y[t] = s[63 - t];
}
