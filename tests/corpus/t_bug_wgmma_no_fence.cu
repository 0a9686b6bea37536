// Sums are halved between two wgmma without a wgmma.fence
//
// family: planted
// kernel: product
// grid: 1
// block: 128
// planted: tensor core registers
// compute capability: 9.0a
// args: bfloat16[64,16] uniform; bfloat16[8,16] uniform; out float[64,8]

__device__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> __device__ void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(N) : "memory");
}
__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
// of a matrix in shared memory; bytes between core matrices; swizzle 0: none, 1: 128, 2: 64, 3: 32 bytes
__device__ unsigned long long descriptor(const void *p, int leading, int stride, int swizzle)
{
    return (shared(p) & 0x3ffff) >> 4 | (unsigned long long)(leading >> 4) << 16
        | (unsigned long long)(stride >> 4) << 32 | (unsigned long long)swizzle << 62;
}
// where a byte of a tile lies whose rows are S bytes long and swizzled
template <int S> __device__ unsigned swizzled(unsigned at) { return at ^ (at >> 3 & (S - 16)); }
__device__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
extern "C" __global__ void product(const void *pa, const void *pb, float *c)
{
    __shared__ __align__(1024) unsigned char as[64 * 32], bs[8 * 32];
    const unsigned *a = (const unsigned *)pa, *b = (const unsigned *)pb;
    int t = threadIdx.x;
    float d[4] = {0.f, 0.f, 0.f, 0.f};

    for (int i = t; i < 64 * 8; i += 128) *(unsigned *)(as + swizzled<32>(4 * i)) = a[i];
    for (int i = t; i < 8 * 8; i += 128) *(unsigned *)(bs + swizzled<32>(4 * i)) = b[i];

    fence_async();
    __syncthreads();
    wgmma_fence();
    asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;}" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(descriptor(as, 16, 256, 3)), "l"(descriptor(bs, 16, 256, 3)));
    wgmma_commit();
    wgmma_wait<0>();
    for (int i = 0; i < 4; i++) d[i] *= 0.5f; // fault
    asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;}" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(descriptor(as, 16, 256, 3)), "l"(descriptor(bs, 16, 256, 3))); // fault
    wgmma_commit();
    wgmma_wait<0>();

    int at = (t / 32 * 16 + t % 32 / 4) * 8 + t % 4 * 2;
    c[at] = d[0];
    c[at + 1] = d[1];
    c[at + 64] = d[2];
    c[at + 65] = d[3];
}
