// stmatrix of one, two and four matrices, as they are and transposed
//
// family: matrix loads
// kernel: store
// grid: 1
// block: 32
// args: uint[4,32] bits; out ushort[88,8]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void stmatrix_x4(void *row, const unsigned (&r)[4])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(shared(row)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}
extern "C" __global__ void store(const unsigned *x, unsigned short *y)
{
    __shared__ __align__(16) unsigned short s[88][8];
    int t = threadIdx.x;
    unsigned r[4];
    for (int i = 0; i < 4; i++) r[i] = x[32 * i + t];
    stmatrix_x4(s[t], r);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(shared(s[32 + (t ^ 8)])), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
                 :: "r"(shared(s[64 + t % 16])), "r"(r[2]), "r"(r[3]) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};"
                 :: "r"(shared(s[80 + t % 8])), "r"(r[1]) : "memory");
    __syncwarp();
    for (int i = t; i < 88 * 8; i += 32) y[i] = s[i / 8][i % 8];
}
