// A buffer is written again while a bulk copy may still read it
//
// family: planted
// kernel: ring
// grid: 1
// block: 64
// planted: asynchronous copy, race
// args: float[64] uniform; out float[4,64]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> __device__ void bulk_wait() { asm volatile("cp.async.bulk.wait_group %0;" :: "n"(N) : "memory"); }
__device__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
extern "C" __global__ void ring(const float *x, float *y)
{
    __shared__ __align__(128) float s[64];
    int t = threadIdx.x;
    for (int k = 0; k < 4; k++) {
        __syncthreads();
        s[t] = x[t] + k; // fault
        fence_async();
        __syncthreads();
        if (t == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(y + 64 * k), "r"(shared(s)), "r"(256) : "memory"); // fault
            bulk_commit(); // wait_group.read 0 is missing before the next round
        }
    }
    if (t == 0) bulk_wait<0>();
}
