// ldmatrix of two matrices, as they are and transposed
//
// family: matrix loads
// kernel: load
// grid: 1
// block: 32
// args: ushort[16,8] iota; out uint[4,32]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void ldmatrix_x2(unsigned (&r)[2], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1]) : "r"(shared(row)) : "memory");
}
__device__ void ldmatrix_x2_trans(unsigned (&r)[2], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1]) : "r"(shared(row)) : "memory");
}
extern "C" __global__ void load(const unsigned short *x, unsigned *y)
{
    __shared__ __align__(16) unsigned short s[16][8];
    int t = threadIdx.x;
    for (int i = t; i < 128; i += 32) s[i / 8][i % 8] = x[i];
    __syncwarp();
    unsigned r[2], q[2];
    ldmatrix_x2(r, s[t % 16]);
    ldmatrix_x2_trans(q, s[(t + 8) % 16]);
    y[t] = r[0];
    y[32 + t] = r[1];
    y[64 + t] = q[0];
    y[96 + t] = q[1];
}
