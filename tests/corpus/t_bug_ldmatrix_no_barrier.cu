// ldmatrix of rows that another warp stores, without a barrier
//
// family: planted
// kernel: load
// grid: 1
// block: 64
// planted: race, uninitialised
// args: ushort[64,8] iota; out uint[4,64]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void load(const unsigned short *x, unsigned *y)
{
    __shared__ __align__(16) unsigned short s[64][8];
    int t = threadIdx.x;
    for (int i = 0; i < 8; i++) s[t][i] = x[8 * t + i]; // fault
    unsigned r[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared(s[63 - t])) : "memory"); // fault
    for (int i = 0; i < 4; i++) y[64 * i + t] = r[i];
}
