// wgmma whose A comes from registers
//
// family: warpgroups
// kernel: product
// grid: 1
// block: 128
// compute capability: 9.0a
// args: bfloat16[64,32] uniform; bfloat16[64,32] uniform; out float[64,64]

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
__device__ void wgmma_bf16_n64_regs(float (&d)[32], const unsigned (&a)[4], unsigned long long b, int keep)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %37, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
                 "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "{%32, %33, %34, %35}, %36, p, 1, 1, 0;\n\t}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                   "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                   "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
                   "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
                   "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
}
extern "C" __global__ void product(const void *pa, const void *b, float *c)
{
    __shared__ __align__(1024) unsigned char bs[64 * 64];
    fill<64>(bs, (const unsigned *)b, 64 * 64);
    const unsigned *a = (const unsigned *)pa;
    int t = threadIdx.x, row = t / 32 * 16 + t % 32 / 4, i = t % 4;
    unsigned x[2][4];
    for (int k = 0; k < 2; k++)
        for (int j = 0; j < 4; j++) x[k][j] = a[(row + j % 2 * 8) * 16 + 8 * k + j / 2 * 4 + i];
    fence_async();
    __syncthreads();
    float d[32] = {};
    wgmma_fence();
    wgmma_bf16_n64_regs(d, x[0], descriptor(bs, 16, 512, 2), 1);
    wgmma_bf16_n64_regs(d, x[1], descriptor(bs + 32, 16, 512, 2), 1);
    wgmma_commit();
    wgmma_wait<0>();
    store<64>(c, d);
}
