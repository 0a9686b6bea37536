// wgmma m64n64k16: halves, sums in half
//
// family: warpgroups
// kernel: product
// grid: 1
// block: 128
// compute capability: 9.0a
// args: half[64,64] uniform; half[64,64] uniform; out half[64,64]

__device__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
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
template <int S> __device__ void fill(unsigned char *tile, const unsigned *from, int bytes)
{
    for (int i = 4 * threadIdx.x; i < bytes; i += 4 * blockDim.x)
        *(unsigned *)(tile + swizzled<S>(i)) = from[i / 4];
}
__device__ void wgmma_f16_f16_n64(unsigned (&d)[16], unsigned long long a, unsigned long long b, int keep)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %18, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f16.f16.f16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
                 "%16, %17, p, 1, 1, 0, 0;\n\t}"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]),
                   "+r"(d[7]), "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]),
                   "+r"(d[14]), "+r"(d[15])
                 : "l"(a), "l"(b), "r"(keep));
}
extern "C" __global__ void product(const void *a, const void *b, void *c)
{
    __shared__ __align__(1024) unsigned char as[64 * 128], bs[64 * 128];
    fill<128>(as, (const unsigned *)a, 64 * 128);
    fill<128>(bs, (const unsigned *)b, 64 * 128);
    fence_async();
    __syncthreads();
    unsigned d[16] = {};
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; k++)
        wgmma_f16_f16_n64(d, descriptor(as + 32 * k, 16, 1024, 1), descriptor(bs + 32 * k, 16, 1024, 1), 1);
    wgmma_commit();
    wgmma_wait<0>();
    int t = threadIdx.x, row = t / 32 * 16 + t % 32 / 4;
    for (int i = 0; i < 16; i++) ((unsigned *)c)[(row + i % 2 * 8) * 32 + i / 2 * 4 + t % 4] = d[i];
}
