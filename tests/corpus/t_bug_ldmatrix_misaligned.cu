// ldmatrix of rows that do not begin at a multiple of 16 bytes
//
// family: planted
// kernel: load
// grid: 1
// block: 32
// planted: misaligned
// args: ushort[32,12] iota; out uint[2,32]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void load(const unsigned short *x, unsigned *y)
{
    __shared__ __align__(16) unsigned short s[32][12]; // 16 would be right: 24 bytes are no multiple
    int t = threadIdx.x;
    for (int i = t; i < 384; i += 32) s[i / 12][i % 12] = x[i];
    __syncwarp();
    unsigned r[2];
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(shared(s[t])) : "memory"); // fault
    y[t] = r[0];
    y[32 + t] = r[1];
}
