// Every thread stores its own piece in its own bulk group
//
// family: bulk copies
// kernel: many
// grid: 2
// block: 64
// args: out int[2,64,4]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void bulk_store(void *to, const void *from, int bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 :: "l"(to), "r"(shared(from)), "r"(bytes) : "memory");
}
__device__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> __device__ void bulk_wait() { asm volatile("cp.async.bulk.wait_group %0;" :: "n"(N) : "memory"); }
__device__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
extern "C" __global__ void many(int *y)
{
    __shared__ __align__(128) int s[64][4];
    int t = threadIdx.x;
    for (int i = 0; i < 4; i++) s[t][i] = t * 10 + i - blockIdx.x;
    fence_async();
    bulk_store(y + (blockIdx.x * 64 + 63 - t) * 4, s[t], 16);
    bulk_commit();
    bulk_wait<0>();
}
