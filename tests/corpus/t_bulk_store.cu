// A bulk copy out of shared memory, in a bulk group
//
// family: bulk copies
// kernel: store
// grid: 2
// block: 64
// args: float[2,64] uniform; out float[2,256]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void bulk_store(void *to, const void *from, int bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 :: "l"(to), "r"(shared(from)), "r"(bytes) : "memory");
}
__device__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> __device__ void bulk_wait() { asm volatile("cp.async.bulk.wait_group %0;" :: "n"(N) : "memory"); }
__device__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
extern "C" __global__ void store(const float *x, float *y)
{
    __shared__ __align__(128) float s[256];
    int t = threadIdx.x;
    float v = x[blockIdx.x * 64 + t];
    for (int i = 0; i < 4; i++) s[i * 64 + (t ^ i)] = v * (i + 1);
    fence_async();
    __syncthreads();
    if (t == 0) {
        bulk_store(y + blockIdx.x * 256, s, 1024);
        bulk_commit();
        bulk_wait<0>();
    }
}
