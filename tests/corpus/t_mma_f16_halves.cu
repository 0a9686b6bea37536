// mma.sync m16n8k16 and m16n8k8: halves, sums in half
//
// family: tensor cores
// kernel: product
// grid: 2
// block: 64
// args: half[4,16,16] uniform; half[4,8,16] uniform; half[4,16,8] uniform; out half[2,4,16,8]

__device__ void mma_f16_f16(unsigned (&d)[2], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
                 "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ void mma_f16_f16_k8(unsigned (&d)[2], const unsigned (&a)[2], const unsigned (&b)[1])
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 "
                 "{%0, %1}, {%2, %3}, {%4}, {%0, %1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}
extern "C" __global__ void product(const void *pa, const void *pb, const void *pc, void *pd)
{
    const unsigned *a = (const unsigned *)pa, *b = (const unsigned *)pb, *c = (const unsigned *)pc;
    unsigned *d = (unsigned *)pd;
    int thread = blockIdx.x * blockDim.x + threadIdx.x, warp = thread / 32;
    int g = thread % 32 / 4, i = thread % 4;
    a += warp * 128;
    b += warp * 64;
    int at = warp * 64 + g * 4 + i;
    unsigned x[4] = {a[g * 8 + i], a[(g + 8) * 8 + i], a[g * 8 + i + 4], a[(g + 8) * 8 + i + 4]};
    unsigned y[2] = {b[g * 8 + i], b[g * 8 + i + 4]}, z[2] = {c[at], c[at + 32]};
    mma_f16_f16(z, x, y);
    d[at] = z[0];
    d[at + 32] = z[1];
    unsigned low[2] = {x[0], x[1]}, high[2] = {x[2], x[3]}, yl[1] = {y[0]}, yh[1] = {y[1]};
    z[0] = c[at];
    z[1] = c[at + 32];
    mma_f16_f16_k8(z, low, yl);
    mma_f16_f16_k8(z, high, yh);
    d[256 + at] = z[0];
    d[256 + at + 32] = z[1];
}
