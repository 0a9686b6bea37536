// A product of floats as three parts of bfloat16 and six products
//
// family: tensor cores
// kernel: product
// grid: 1
// block: 32
// args: float[16,32] uniform; float[8,32] uniform; out float[16,8]

__device__ void mma_bf16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ unsigned pair(float low, float high)
{
    unsigned r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}
// two neighbours as three parts, the largest first
__device__ void split(unsigned (&part)[3], float low, float high)
{
    for (int p = 0; p < 3; p++) {
        part[p] = pair(low, high);
        low -= __uint_as_float(part[p] << 16);
        high -= __uint_as_float(part[p] & 0xffff0000);
    }
}
extern "C" __global__ void product(const float *a, const float *b, float *c)
{
    int g = threadIdx.x / 4, i = threadIdx.x % 4;
    float sum[4] = {0.f, 0.f, 0.f, 0.f};
    for (int k = 0; k < 32; k += 16) {
        unsigned x[3][4], y[3][2];
        for (int j = 0; j < 4; j++) {
            const float *p = a + (g + j % 2 * 8) * 32 + k + j / 2 * 8 + 2 * i;
            unsigned parts[3];
            split(parts, p[0], p[1]);
            for (int n = 0; n < 3; n++) x[n][j] = parts[n];
        }
        for (int j = 0; j < 2; j++) {
            const float *p = b + g * 32 + k + j * 8 + 2 * i;
            unsigned parts[3];
            split(parts, p[0], p[1]);
            for (int n = 0; n < 3; n++) y[n][j] = parts[n];
        }
        mma_bf16(sum, x[0], y[2]); // the smallest products first
        mma_bf16(sum, x[1], y[1]);
        mma_bf16(sum, x[2], y[0]);
        mma_bf16(sum, x[0], y[1]);
        mma_bf16(sum, x[1], y[0]);
        mma_bf16(sum, x[0], y[0]);
    }
    for (int j = 0; j < 4; j++) c[(g + j / 2 * 8) * 8 + 2 * i + j % 2] = sum[j];
}
