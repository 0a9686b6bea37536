// wgmma m64n256k16: bfloat16, core matrices without a swizzle
//
// family: warpgroups
// kernel: product
// grid: 1
// block: 128
// compute capability: 9.0a
// args: bfloat16[64,32] uniform; bfloat16[256,32] uniform; out float[64,256]

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
__device__ void wgmma_bf16_n256(float (&d)[128], unsigned long long a, unsigned long long b, int keep)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %130, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
                 "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "
                 "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, "
                 "%56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, "
                 "%74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, "
                 "%92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, "
                 "%108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, "
                 "%123, %124, %125, %126, %127}, "
                 "%128, %129, p, 1, 1, 0, 0;\n\t}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                   "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                   "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
                   "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
                   "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
                   "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
                   "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
                   "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                   "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
                   "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]),
                   "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]),
                   "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]),
                   "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]),
                   "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]),
                   "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
                   "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]),
                   "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]),
                   "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]),
                   "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
                 : "l"(a), "l"(b), "r"(keep));
}
extern "C" __global__ void product(const void *a, const void *b, float *c)
{
    __shared__ __align__(128) uint4 as[4 * 64], bs[4 * 256];
    pack(as, (const uint4 *)a, 64, 4);
    pack(bs, (const uint4 *)b, 256, 4);
    fence_async();
    __syncthreads();
    float d[128] = {};
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; k += 2)
        wgmma_bf16_n256(d, descriptor(&as[64 * k], 1024, 128, 0), descriptor(&bs[256 * k], 4096, 128, 0), k > 0);
    wgmma_commit();
    wgmma_wait<0>();
    store<256>(c, d);
}
