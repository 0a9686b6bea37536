// mma.sync m16n8k32: unsigned bytes, sums that wrap
//
// family: tensor cores
// kernel: product
// grid: 2
// block: 64
// args: uchar[4,16,32] bits; uchar[4,8,32] bits; int[4,16,8] values 2147483647 -5 2147000000; out int[4,16,8]

__device__ void mma_u8(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#define W 8 // words of four bytes in a row
extern "C" __global__ void product(const void *pa, const void *pb, const int *c, int *d)
{
    const unsigned *a = (const unsigned *)pa, *b = (const unsigned *)pb;
    int thread = blockIdx.x * blockDim.x + threadIdx.x, warp = thread / 32;
    int g = thread % 32 / 4, i = thread % 4;
    a += warp * 16 * W; // 16 rows of A, 8 columns of B
    b += warp * 8 * W;
    int at = warp * 128 + g * 8 + 2 * i;
    unsigned x[4] = {a[g * W + i], a[(g + 8) * W + i], a[g * W + i + 4], a[(g + 8) * W + i + 4]};
    unsigned y[2] = {b[g * W + i], b[g * W + i + 4]};
    int z[4] = {c[at], c[at + 1], c[at + 64], c[at + 65]};
    mma_u8(z, x, y);
    d[at] = z[0];
    d[at + 1] = z[1];
    d[at + 64] = z[2];
    d[at + 65] = z[3];
}
