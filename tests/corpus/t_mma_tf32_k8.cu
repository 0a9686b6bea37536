// mma.sync m16n8k8: floats rounded to TF32
//
// family: tensor cores
// kernel: product
// grid: 2
// block: 64
// args: float[4,16,8] uniform; float[4,8,8] uniform; float[4,16,8] uniform; out float[4,16,8]

__device__ void mma_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#define W 8
__device__ unsigned round_tf32(float v)
{
    unsigned r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v));
    return r;
}
extern "C" __global__ void product(const float *a, const float *b, const float *c, float *d)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x, warp = thread / 32;
    int g = thread % 32 / 4, i = thread % 4;
    a += warp * 16 * W;
    b += warp * 8 * W;
    int at = warp * 128 + g * 8 + 2 * i;
    unsigned x[4] = {round_tf32(a[g * W + i]), round_tf32(a[(g + 8) * W + i]), round_tf32(a[g * W + i + 4]), round_tf32(a[(g + 8) * W + i + 4])};
    unsigned y[2] = {round_tf32(b[g * W + i]), round_tf32(b[g * W + i + 4])};
    float z[4] = {c[at], c[at + 1], c[at + 64], c[at + 65]};
    mma_tf32(z, x, y);
    d[at] = z[0];
    d[at + 1] = z[1];
    d[at + 64] = z[2];
    d[at + 65] = z[3];
}
