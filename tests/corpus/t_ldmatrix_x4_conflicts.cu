// ldmatrix of four matrices whose rows all begin in the same bank
//
// family: matrix loads
// kernel: load
// grid: 1
// block: 128
// args: ushort[64,16] iota; out uint[4,4,32]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void ldmatrix_x4(unsigned (&r)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared(row)) : "memory");
}
#define PITCH 64
extern "C" __global__ void load(const unsigned short *x, unsigned *y)
{
    __shared__ __align__(16) unsigned short s[64][PITCH];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    for (int i = t; i < 1024; i += 128) s[i / 16][i % 16] = x[i];
    __syncthreads();
    unsigned r[4];
    ldmatrix_x4(r, &s[16 * warp + lane % 16][lane / 16 * 8]);
    for (int i = 0; i < 4; i++) y[(4 * warp + i) * 32 + lane] = r[i];
}
