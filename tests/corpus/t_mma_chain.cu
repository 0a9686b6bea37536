// A chain of mma.sync over K = 256 with positive halves: the sums are truncated
//
// family: tensor cores
// kernel: chain
// grid: 1
// block: 32
// args: half[16,256] uniform 0 1; half[8,256] uniform 0 1; out float[16,8]

__device__ void mma_f16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
extern "C" __global__ void chain(const void *pa, const void *pb, float *d)
{
    const unsigned *a = (const unsigned *)pa, *b = (const unsigned *)pb;
    int g = threadIdx.x / 4, i = threadIdx.x % 4;
    float z[4] = {0.f, 0.f, 0.f, 0.f};
    for (int k = 0; k < 128; k += 8) {
        const unsigned *p = a + g * 128 + k + i, *q = b + g * 128 + k + i;
        unsigned x[4] = {p[0], p[1024], p[4], p[1028]}, y[2] = {q[0], q[4]};
        mma_f16(z, x, y);
    }
    d[g * 8 + 2 * i] = z[0];
    d[g * 8 + 2 * i + 1] = z[1];
    d[g * 8 + 64 + 2 * i] = z[2];
    d[g * 8 + 65 + 2 * i] = z[3];
}
