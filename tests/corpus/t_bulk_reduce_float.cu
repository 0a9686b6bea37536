// Bulk reductions: floats are added to global memory, one copy after the other
//
// family: bulk copies
// kernel: add
// grid: 1
// block: 64
// launches: 2
// args: float[64] uniform; float[64] uniform

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void bulk_add(float *to, const float *from, int bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;"
                 :: "l"(to), "r"(shared(from)), "r"(bytes) : "memory");
}
__device__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> __device__ void bulk_wait() { asm volatile("cp.async.bulk.wait_group %0;" :: "n"(N) : "memory"); }
__device__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
extern "C" __global__ void add(const float *x, float *y)
{
    __shared__ __align__(128) float s[2][64];
    int t = threadIdx.x;
    s[0][t] = x[t];
    s[1][t] = x[63 - t] * 1e-3f;
    fence_async();
    __syncthreads();
    if (t == 0)
        for (int k = 0; k < 2; k++) {
            bulk_add(y, s[k], 256);
            bulk_commit();
            bulk_wait<0>();
        }
}
