// wgmma m64n64k32: signed bytes, rows of 64 bytes, swizzled
//
// family: warpgroups
// kernel: product
// grid: 1
// block: 128
// compute capability: 9.0a
// args: char[64,64] bits; char[64,64] bits; out int[64,64]

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
// the sums of a warpgroup, 64 rows of N
template <int N, class T> __device__ void store(T *c, const T (&d)[N / 2])
{
    int t = threadIdx.x % 128, row = t / 32 * 16 + t % 32 / 4, column = t % 4 * 2;
    for (int i = 0; i < N / 2; i++)
        c[(row + i / 2 % 2 * 8) * N + i / 4 * 8 + column + i % 2] = d[i];
}
__device__ void wgmma_s8_n64(int (&d)[32], unsigned long long a, unsigned long long b, int keep)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %34, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
                 "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "%32, %33, p;\n\t}"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]),
                   "+r"(d[7]), "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]),
                   "+r"(d[14]), "+r"(d[15]), "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]),
                   "+r"(d[21]), "+r"(d[22]), "+r"(d[23]), "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]),
                   "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31])
                 : "l"(a), "l"(b), "r"(keep));
}
extern "C" __global__ void product(const void *a, const void *b, int *c)
{
    __shared__ __align__(1024) unsigned char as[64 * 64], bs[64 * 64];
    fill<64>(as, (const unsigned *)a, 64 * 64);
    fill<64>(bs, (const unsigned *)b, 64 * 64);
    fence_async();
    __syncthreads();
    int d[32] = {};
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < 2; k++)
        wgmma_s8_n64(d, descriptor(as + 32 * k, 16, 512, 2), descriptor(bs + 32 * k, 16, 512, 2), 1);
    wgmma_commit();
    wgmma_wait<0>();
    store<64>(c, d);
}
