// setmaxnreg: the warpgroup that copies gives registers to the one that multiplies
//
// family: roles of warps
// kernel: product
// grid: 1
// block: 256
// compute capability: 9.0a
// args: bfloat16[16,64,8] uniform; bfloat16[16,64,8] uniform; out float[64,64]

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
// the sums of a warpgroup, 64 rows of N
template <int N, class T> __device__ void store(T *c, const T (&d)[N / 2])
{
    int t = threadIdx.x % 128, row = t / 32 * 16 + t % 32 / 4, column = t % 4 * 2;
    for (int i = 0; i < N / 2; i++)
        c[(row + i / 2 % 2 * 8) * N + i / 4 * 8 + column + i % 2] = d[i];
}
__device__ void wgmma_bf16_n64(float (&d)[32], unsigned long long a, unsigned long long b, int keep)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %34, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
                 "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "%32, %33, p, 1, 1, 0, 0;\n\t}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                   "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                   "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
                   "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
                   "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                 : "l"(a), "l"(b), "r"(keep));
}
extern "C" __global__ void __launch_bounds__(256, 1) product(const void *pa, const void *pb, float *c)
{
    __shared__ __align__(128) uint4 as[2][4 * 64], bs[2][4 * 64];
    __shared__ barrier full[2], empty[2];
    const uint4 *a = (const uint4 *)pa, *b = (const uint4 *)pb;
    int t = threadIdx.x;
    if (t == 0) {
        for (int i = 0; i < 2; i++) {
            init(&full[i], 1);
            init(&empty[i], 128);
        }
        fence_init();
    }
    __syncthreads();
    if (t >= 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (t == 128)
            for (int k = 0; k < 4; k++) {
                int i = k & 1;
                wait(&empty[i], k >> 1 & 1 ^ 1);
                arrive_expect(&full[i], 8192);
                bulk_load(as[i], a + k * 256, 4096, &full[i]);
                bulk_load(bs[i], b + k * 256, 4096, &full[i]);
            }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    float d[32] = {};
    for (int k = 0; k < 4; k++) {
        int i = k & 1;
        wait(&full[i], k >> 1 & 1);
        wgmma_fence();
        wgmma_bf16_n64(d, descriptor(as[i], 1024, 128, 0), descriptor(bs[i], 1024, 128, 0), 1);
        wgmma_bf16_n64(d, descriptor(as[i] + 128, 1024, 128, 0), descriptor(bs[i] + 128, 1024, 128, 0), 1);
        wgmma_commit();
        wgmma_wait<0>();
        arrive(&empty[i]);
    }
    store<64>(c, d);
}
