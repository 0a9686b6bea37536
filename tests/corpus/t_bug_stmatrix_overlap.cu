// stmatrix of two warps whose rows overlap
//
// family: planted
// kernel: store
// grid: 1
// block: 64
// planted: race
// args: uint[64] bits; out ushort[24,8]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void store(const unsigned *x, unsigned short *y)
{
    __shared__ __align__(16) unsigned short s[24][8];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    unsigned r = x[t];
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %1};" :: "r"(shared(s[warp * 8 + lane % 16])), "r"(r) : "memory"); // fault
    __syncthreads();
    for (int i = t; i < 192; i += 64) y[i] = s[i / 8][i % 8];
}
