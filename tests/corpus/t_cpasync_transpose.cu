// A tile transposed on its way in by copies of 4 bytes
//
// family: cp.async
// kernel: transpose
// grid: 2
// block: 32 8
// args: float[64,32] uniform; out float[32,64]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void copy4(void *to, const void *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(shared(to)), "l"(from) : "memory");
}
__device__ void wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }
extern "C" __global__ void transpose(const float *x, float *y)
{
    __shared__ float tile[32][33];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.x * 32;
    for (int i = ty; i < 32; i += 8) copy4(&tile[tx][i], &x[(row + i) * 32 + tx]);
    wait_all();
    __syncthreads();
    for (int i = ty; i < 32; i += 8) y[i * 64 + row + tx] = tile[i][tx];
}
