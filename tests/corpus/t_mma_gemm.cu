// A product of halves: cp.async in two stages, ldmatrix, mma.sync
//
// family: tensor cores
// kernel: gemm
// grid: 2
// block: 128
// args: half[128,128] uniform; half[64,128] uniform; out float[128,64]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void copy16(void *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared(to)), "l"(from) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ void wait_group() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }
__device__ void ldmatrix_x4(unsigned (&r)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared(row)) : "memory");
}
__device__ void mma_f16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#define MMA mma_f16
// 64x64 of C by four warps, 32x32 each; A and B^T have rows of K elements of 16 bits
#define K 128
#define PITCH 40 // 32 elements, and 8 of padding
__device__ void load_tile(unsigned short (*to)[PITCH], const unsigned short *from, int k)
{
    for (int unit = threadIdx.x; unit < 64 * 4; unit += 128) {
        int row = unit / 4, column = unit % 4 * 8;
        copy16(&to[row][column], from + row * K + k + column);
    }
}
extern "C" __global__ void gemm(const void *pa, const void *pb, float *c)
{
    __shared__ __align__(16) unsigned short as[2][64][PITCH], bs[2][64][PITCH];
    const unsigned short *a = (const unsigned short *)pa, *b = (const unsigned short *)pb;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int row = warp / 2 * 32, column = warp % 2 * 32;
    a += blockIdx.x * 64 * K;
    c += blockIdx.x * 64 * 64;
    float sum[2][4][4] = {};
    load_tile(as[0], a, 0);
    load_tile(bs[0], b, 0);
    commit();
    for (int k = 0; k < K; k += 32) {
        int now = k / 32 & 1;
        if (k + 32 < K) {
            load_tile(as[now ^ 1], a, k + 32);
            load_tile(bs[now ^ 1], b, k + 32);
        }
        commit();
        wait_group<1>();
        __syncthreads();
        for (int kk = 0; kk < 32; kk += 16) {
            unsigned x[2][4], y[2][4];
            for (int m = 0; m < 2; m++)
                ldmatrix_x4(x[m], &as[now][row + 16 * m + lane % 16][kk + lane / 16 * 8]);
            for (int n = 0; n < 2; n++)
                ldmatrix_x4(y[n], &bs[now][column + 16 * n + lane / 16 * 8 + lane % 8][kk + lane / 8 % 2 * 8]);
            for (int m = 0; m < 2; m++)
                for (int n = 0; n < 4; n++) {
                    unsigned z[2] = {y[n / 2][n % 2 * 2], y[n / 2][n % 2 * 2 + 1]};
                    MMA(sum[m][n], x[m], z);
                }
        }
        __syncthreads();
    }
    for (int m = 0; m < 2; m++)
        for (int n = 0; n < 4; n++)
            for (int i = 0; i < 4; i++) {
                int r = row + 16 * m + lane / 4 + i / 2 * 8, s = column + 8 * n + lane % 4 * 2 + i % 2;
                c[r * 64 + s] = sum[m][n][i];
            }
}
