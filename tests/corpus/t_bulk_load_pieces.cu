// Bulk copies of 16 to 496 bytes that complete at one mbarrier
//
// family: bulk copies
// kernel: pieces
// grid: 1
// block: 64
// args: ushort[1024] bits; out ushort[1024]

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
__device__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
extern "C" __global__ void pieces(const unsigned short *x, unsigned short *y)
{
    __shared__ __align__(128) unsigned short s[1024];
    __shared__ barrier full;
    int t = threadIdx.x;
    for (int i = t; i < 1024; i += 64) s[i] = 0;
    if (t == 0) init(&full, 4);
    fence_async();
    __syncthreads();
    if (t < 4) {
        int bytes = t == 0 ? 16 : t == 1 ? 48 : t == 2 ? 240 : 496, from = 128 * t;
        arrive_expect(&full, bytes);
        bulk_load(s + 256 * t, x + from, bytes, &full);
    }
    wait(&full, 0);
    for (int i = t; i < 1024; i += 64) y[i] = s[i];
}
