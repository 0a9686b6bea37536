// A stage is refilled by a bulk copy while other warps still read it
//
// family: planted
// kernel: stages
// grid: 1
// block: 96
// planted: race, asynchronous copy
// args: float[6,256] uniform; out float[96]

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
extern "C" __global__ void stages(const float *x, float *y)
{
    __shared__ __align__(128) float s[2][256];
    __shared__ barrier full[2];
    int t = threadIdx.x;
    if (t == 0) {
        init(&full[0], 1);
        init(&full[1], 1);
        fence_init();
    }
    __syncthreads();
    float sum = 0.f;
    for (int k = -1; k < 6; k++) {
        if (t == 0 && k + 1 < 6) { // the stage that was read two tiles ago: nobody has said that all have
            int i = k + 1 & 1;
            arrive_expect(&full[i], 1024);
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(shared(s[i])), "l"(x + 256 * (k + 1)), "r"(1024), "r"(shared(&full[i])) : "memory"); // fault
        }
        if (k < 0) continue;
        wait(&full[k & 1], k >> 1 & 1);
        sum = sum * 0.5f + s[k & 1][255 - t]; // fault
    }
    y[t] = sum;
}
