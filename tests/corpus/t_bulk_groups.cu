// Bulk groups: a buffer is written again once its copy has read it
//
// family: bulk copies
// kernel: ring
// grid: 1
// block: 64
// args: float[64] uniform; out float[7,64]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void bulk_store(void *to, const void *from, int bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 :: "l"(to), "r"(shared(from)), "r"(bytes) : "memory");
}
__device__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> __device__ void bulk_wait() { asm volatile("cp.async.bulk.wait_group %0;" :: "n"(N) : "memory"); }
template <int N> __device__ void bulk_wait_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(N) : "memory");
}
__device__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
extern "C" __global__ void ring(const float *x, float *y)
{
    __shared__ __align__(128) float s[2][64];
    int t = threadIdx.x;
    float v = x[t];
    for (int k = 0; k < 7; k++) {
        if (t == 0) bulk_wait_read<1>();
        __syncthreads();
        s[k & 1][t] = v;
        fence_async();
        __syncthreads();
        if (t == 0) {
            bulk_store(y + 64 * k, s[k & 1], 256);
            bulk_commit();
        }
        v = v * 0.5f + 1.f;
    }
    if (t == 0) bulk_wait<0>();
}
