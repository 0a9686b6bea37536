// Sums as halves go to shared memory by stmatrix, and from there in rows
//
// family: matrix loads
// kernel: product
// grid: 1
// block: 64
// args: half[32,16] uniform; half[32,16] uniform; out half[32,32]

__device__ void mma_f16_f16(unsigned (&d)[2], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
                 "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void stmatrix_x4(void *row, const unsigned (&r)[4])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(shared(row)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}
extern "C" __global__ void product(const void *pa, const void *pb, void *pc)
{
    __shared__ __align__(16) unsigned s[32][20]; // 32 halves, and 8 of padding
    const unsigned *a = (const unsigned *)pa, *b = (const unsigned *)pb;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, i = lane % 4;
    a += warp * 16 * 8;
    unsigned x[4] = {a[g * 8 + i], a[(g + 8) * 8 + i], a[g * 8 + i + 4], a[(g + 8) * 8 + i + 4]};
    for (int n = 0; n < 4; n += 2) {
        unsigned both[4] = {0, 0, 0, 0};
        for (int j = 0; j < 2; j++) {
            const unsigned *rows = b + (n + j) * 8 * 8;
            unsigned y[2] = {rows[g * 8 + i], rows[g * 8 + i + 4]}, z[2] = {0, 0};
            mma_f16_f16(z, x, y);
            both[2 * j] = z[0];
            both[2 * j + 1] = z[1];
        }
        stmatrix_x4(&s[16 * warp + lane % 16][4 * (n + lane / 16)], both);
    }
    __syncthreads();
    unsigned *c = (unsigned *)pc;
    for (int k = threadIdx.x; k < 512; k += 64) c[k] = s[k / 16][k % 16];
}
