// ldmatrix of one matrix: eight lanes give the rows
//
// family: matrix loads
// kernel: load
// grid: 1
// block: 64
// args: ushort[2,8,8] iota; out uint[2,32]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void load(const unsigned short *x, unsigned *y)
{
    __shared__ __align__(16) unsigned short s[2][64];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int i = lane; i < 64; i += 32) s[warp][i] = x[64 * warp + i];
    __syncwarp();
    unsigned r;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(r) : "r"(shared(&s[warp][8 * (7 - lane % 8)])) : "memory");
    y[threadIdx.x] = r;
}
