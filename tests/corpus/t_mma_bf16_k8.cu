// mma.sync m16n8k8: bfloat16
//
// family: tensor cores
// kernel: product
// grid: 2
// block: 64
// args: bfloat16[4,16,8] uniform; bfloat16[4,8,8] uniform; float[4,16,8] uniform; out float[4,16,8]

__device__ void mma_bf16_k8(float (&d)[4], const unsigned (&a)[2], const unsigned (&b)[1])
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}
#define W 4 // words of four bytes in a row
extern "C" __global__ void product(const void *pa, const void *pb, const float *c, float *d)
{
    const unsigned *a = (const unsigned *)pa, *b = (const unsigned *)pb;
    int thread = blockIdx.x * blockDim.x + threadIdx.x, warp = thread / 32;
    int g = thread % 32 / 4, i = thread % 4;
    a += warp * 16 * W; // 16 rows of A, 8 columns of B
    b += warp * 8 * W;
    int at = warp * 128 + g * 8 + 2 * i;
    unsigned x[2] = {a[g * W + i], a[(g + 8) * W + i]};
    unsigned y[1] = {b[g * W + i]};
    float z[4] = {c[at], c[at + 1], c[at + 64], c[at + 65]};
    mma_bf16_k8(z, x, y);
    d[at] = z[0];
    d[at + 1] = z[1];
    d[at + 64] = z[2];
    d[at + 65] = z[3];
}
