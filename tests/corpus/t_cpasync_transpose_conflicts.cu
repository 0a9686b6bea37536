// A tile transposed by copies of 4 bytes into rows without padding
//
// family: cp.async
// kernel: transpose
// grid: 1
// block: 32 4
// args: int[32,32] iota; out int[32,32]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void copy4(void *to, const void *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(shared(to)), "l"(from) : "memory");
}
__device__ void wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }
extern "C" __global__ void transpose(const int *x, int *y)
{
    __shared__ int tile[32][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    for (int i = ty; i < 32; i += 4) copy4(&tile[tx][i], &x[i * 32 + tx]);
    wait_all();
    __syncthreads();
    for (int i = ty; i < 32; i += 4) y[i * 32 + tx] = tile[i][tx];
}
