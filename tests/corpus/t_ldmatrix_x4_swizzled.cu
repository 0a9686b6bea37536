// ldmatrix, transposed, from rows whose 16-byte units are swizzled
//
// family: matrix loads
// kernel: load
// grid: 2
// block: 64
// args: ushort[2,32,64] bits; out uint[2,2,8,32]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void ldmatrix_x4_trans(unsigned (&r)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared(row)) : "memory");
}
extern "C" __global__ void load(const unsigned short *x, unsigned *y)
{
    __shared__ __align__(128) unsigned short s[32 * 64];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    x += blockIdx.x * 2048;
    for (int i = t; i < 2048; i += 64) {
        int row = i / 64, unit = i % 64 / 8;
        s[row * 64 + (unit ^ row % 8) * 8 + i % 8] = x[i];
    }
    __syncthreads();
    for (int half = 0; half < 2; half++) {
        unsigned r[4];
        int row = 16 * warp + lane % 16, unit = 4 * half + lane / 16;
        ldmatrix_x4_trans(r, &s[row * 64 + (unit ^ row % 8) * 8]);
        for (int i = 0; i < 4; i++) y[((blockIdx.x * 2 + warp) * 8 + 4 * half + i) * 32 + lane] = r[i];
    }
}
