// A bulk copy refills a stage while wgmma may still read it
//
// family: planted
// kernel: product
// grid: 1
// block: 128
// planted: asynchronous copy, race
// compute capability: 9.0a
// args: bfloat16[2,2,64,8] uniform; bfloat16[2,8,8] uniform; out float[64,8]

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
__device__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> __device__ void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(N) : "memory");
}
// of a matrix in shared memory; bytes between core matrices; swizzle 0: none, 1: 128, 2: 64, 3: 32 bytes
__device__ unsigned long long descriptor(const void *p, int leading, int stride, int swizzle)
{
    return (shared(p) & 0x3ffff) >> 4 | (unsigned long long)(leading >> 4) << 16
        | (unsigned long long)(stride >> 4) << 32 | (unsigned long long)swizzle << 62;
}
// A and B are packed: unit u of row r, eight columns from 8 u on, at [u][r]
extern "C" __global__ void product(const void *pa, const void *pb, float *c)
{
    __shared__ __align__(128) uint4 as[2 * 64], bs[2 * 8];
    __shared__ barrier full;
    const uint4 *a = (const uint4 *)pa, *b = (const uint4 *)pb;
    int t = threadIdx.x;
    if (t == 0) {
        init(&full, 1);
        fence_init();
        arrive_expect(&full, 2048 + 256);
        bulk_load(as, a, 2048, &full);
        bulk_load(bs, b, 256, &full);
    }
    __syncthreads();
    wait(&full, 0);
    float d[4] = {0.f, 0.f, 0.f, 0.f};
    wgmma_fence();
    asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;}" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(descriptor(as, 1024, 128, 0)), "l"(descriptor(bs, 128, 128, 0))); // fault
    wgmma_commit();
    if (t == 0) { // wait_group and a barrier are missing before it
        arrive_expect(&full, 2048);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(shared(as)), "l"(a + 128), "r"(2048), "r"(shared(&full)) : "memory"); // fault
    }
    wait(&full, 1);
    wgmma_wait<0>();
    wgmma_fence();
    asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;}" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(descriptor(as, 1024, 128, 0)), "l"(descriptor(bs, 128, 128, 0)));
    wgmma_commit();
    wgmma_wait<0>();

    int at = (t / 32 * 16 + t % 32 / 4) * 8 + t % 4 * 2;
    c[at] = d[0];
    c[at + 1] = d[1];
    c[at + 64] = d[2];
    c[at + 65] = d[3];
}
