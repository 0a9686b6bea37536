// A bulk copy out of shared memory without a proxy fence after the stores
//
// family: planted
// kernel: store
// grid: 2
// block: 64
// planted: asynchronous copy, race
// args: float[128] uniform; out float[128]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> __device__ void bulk_wait() { asm volatile("cp.async.bulk.wait_group %0;" :: "n"(N) : "memory"); }
extern "C" __global__ void store(const float *x, float *y)
{
    __shared__ __align__(128) float s[64];
    int t = threadIdx.x, block = blockIdx.x * 64;
    s[t] = 2.f * x[block + t]; // fault
    __syncthreads(); // fence.proxy.async is missing before it
    if (t == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(y + block), "r"(shared(s)), "r"(256) : "memory"); // fault
        bulk_commit();
        bulk_wait<0>();
    }
}
