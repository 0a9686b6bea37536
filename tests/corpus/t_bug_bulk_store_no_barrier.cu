// A bulk copy out of shared memory before the other warps have stored
//
// family: planted
// kernel: store
// grid: 1
// block: 64
// planted: asynchronous copy, race, uninitialised
// args: float[64] uniform; out float[64]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> __device__ void bulk_wait() { asm volatile("cp.async.bulk.wait_group %0;" :: "n"(N) : "memory"); }
__device__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
extern "C" __global__ void store(const float *x, float *y)
{
    __shared__ __align__(128) float s[64];
    int t = threadIdx.x;
    s[t] = 2.f * x[t]; // fault
    fence_async();
    if (t == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(y), "r"(shared(s)), "r"(256) : "memory"); // fault
        bulk_commit();
        bulk_wait<0>();
    }
}
