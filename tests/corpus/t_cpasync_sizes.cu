// cp.async of 4, 8 and 16 bytes, through the L1 and past it
//
// family: cp.async
// kernel: sizes
// grid: 2
// block: 64
// args: float[2,64,8] uniform; out float[2,64,8]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void copy4(void *to, const void *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(shared(to)), "l"(from) : "memory");
}
__device__ void copy8(void *to, const void *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" :: "r"(shared(to)), "l"(from) : "memory");
}
__device__ void copy16(void *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared(to)), "l"(from) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
__device__ void wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }
__device__ void copy16_ca(void *to, const void *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" :: "r"(shared(to)), "l"(from) : "memory");
}
extern "C" __global__ void sizes(const float *x, float *y)
{
    __shared__ __align__(16) float one[64], two[64][2], four[64][4], again[64][4];
    int t = threadIdx.x;
    x += (blockIdx.x * 64 + t) * 8;
    copy4(&one[t], x + 1);
    copy8(two[t], x + 2);
    copy16(four[t], x + 4);
    copy16_ca(again[t], x);
    wait_all();
    __syncthreads();
    int u = 63 - t;
    y += (blockIdx.x * 64 + t) * 8;
    y[0] = one[u];
    y[1] = two[u][0] - two[u][1];
    for (int i = 0; i < 4; i++) y[2 + i] = four[u][i];
    y[6] = again[u][0] + again[u][1];
    y[7] = again[u][3];
}
