// cp.async with a prefetch size and with a cache policy
//
// family: cp.async
// kernel: hints
// grid: 2
// block: 32
// args: float[2,256] uniform; out float[2,32]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }
extern "C" __global__ void hints(const float *x, float *y)
{
    __shared__ __align__(16) float s[256];
    int t = threadIdx.x;
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    x += blockIdx.x * 256;
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;"
                 :: "r"(shared(&s[4 * t])), "l"(x + 4 * t) : "memory");
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;"
                 :: "r"(shared(&s[128 + 4 * t])), "l"(x + 128 + 4 * t), "l"(policy) : "memory");
    wait_all();
    __syncthreads();
    y[blockIdx.x * 32 + t] = s[t] + s[64 + t] - s[255 - t];
}
