// ldmatrix of a row past the end of shared memory
//
// family: planted
// kernel: load
// grid: 1
// block: 32
// planted: out of bounds
// args: ushort[16,8] iota; out uint[4,32]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void load(const unsigned short *x, unsigned *y)
{
    __shared__ __align__(16) unsigned short s[16][8];
    int t = threadIdx.x;
    for (int i = t; i < 128; i += 32) s[i / 8][i % 8] = x[i];
    __syncwarp();
    unsigned r[4];
    // 16 rows are 256 bytes; a kernel may have 227 KiB
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared(s[t]) + t / 16 * 0x100000) : "memory"); // fault
    for (int i = 0; i < 4; i++) y[32 * i + t] = r[i];
}
