// wgmma m64n8k16 over K = 128 with positive halves: the sums are truncated
//
// family: warpgroups
// kernel: product
// grid: 1
// block: 128
// compute capability: 9.0a
// args: half[64,128] uniform 0 1; half[8,128] uniform 0 1; out float[64,8]

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
// rows of `units` times 16 bytes, so that unit u of row r lies at 16 * (u * rows + r): core matrices
// of eight rows that follow each other, without a swizzle
__device__ void pack(uint4 *tile, const uint4 *from, int rows, int units)
{
    for (int i = threadIdx.x; i < rows * units; i += blockDim.x)
        tile[i % units * rows + i / units] = from[i];
}
// the sums of a warpgroup, 64 rows of N
template <int N, class T> __device__ void store(T *c, const T (&d)[N / 2])
{
    int t = threadIdx.x % 128, row = t / 32 * 16 + t % 32 / 4, column = t % 4 * 2;
    for (int i = 0; i < N / 2; i++)
        c[(row + i / 2 % 2 * 8) * N + i / 4 * 8 + column + i % 2] = d[i];
}
__device__ void wgmma_f16_n8(float (&d)[4], unsigned long long a, unsigned long long b, int keep)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %6, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
                 "{%0, %1, %2, %3}, "
                 "%4, %5, p, 1, 1, 0, 0;\n\t}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(a), "l"(b), "r"(keep));
}
extern "C" __global__ void product(const void *a, const void *b, float *c)
{
    __shared__ __align__(128) uint4 as[16 * 64], bs[16 * 8];
    pack(as, (const uint4 *)a, 64, 16);
    pack(bs, (const uint4 *)b, 8, 16);
    fence_async();
    __syncthreads();
    float d[4] = {};
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < 16; k += 2)
        wgmma_f16_n8(d, descriptor(&as[64 * k], 1024, 128, 0), descriptor(&bs[8 * k], 128, 128, 0), k > 0);
    wgmma_commit();
    wgmma_wait<0>();
    store<8>(c, d);
}
