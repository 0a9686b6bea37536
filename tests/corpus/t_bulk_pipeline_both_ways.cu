// A pipeline of bulk copies in, work, and bulk copies out
//
// family: bulk copies
// kernel: scale
// grid: 2
// block: 64
// args: float[2,6,64] uniform; out float[2,6,64]

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
__device__ void bulk_store(void *to, const void *from, int bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 :: "l"(to), "r"(shared(from)), "r"(bytes) : "memory");
}
__device__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> __device__ void bulk_wait() { asm volatile("cp.async.bulk.wait_group %0;" :: "n"(N) : "memory"); }
template <int N> __device__ void bulk_wait_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(N) : "memory");
}
__device__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
extern "C" __global__ void scale(const float *x, float *y)
{
    __shared__ __align__(128) float in[2][64], out[2][64];
    __shared__ barrier full[2];
    int t = threadIdx.x;
    x += blockIdx.x * 384;
    y += blockIdx.x * 384;
    if (t == 0) {
        init(&full[0], 1);
        init(&full[1], 1);
        fence_async();
        for (int k = 0; k < 2; k++) {
            arrive_expect(&full[k], 256);
            bulk_load(in[k], x + 64 * k, 256, &full[k]);
        }
    }
    __syncthreads();
    for (int k = 0; k < 6; k++) {
        int i = k & 1;
        wait(&full[i], (k >> 1) & 1);
        float v = in[i][t] * in[i][63 - t];
        if (t == 0) bulk_wait_read<1>();
        __syncthreads(); // all have read in[i], and out[i] is free
        out[i][t] = v;
        fence_async();
        __syncthreads();
        if (t == 0) {
            if (k + 2 < 6) {
                arrive_expect(&full[i], 256);
                bulk_load(in[i], x + 64 * (k + 2), 256, &full[i]);
            }
            bulk_store(y + 64 * k, out[i], 256);
            bulk_commit();
        }
    }
    if (t == 0) bulk_wait<0>();
}
