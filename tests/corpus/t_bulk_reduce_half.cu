// Bulk reductions of halves and bfloat16: add, min, max
//
// family: bulk copies
// kernel: reduce
// grid: 1
// block: 64
// args: half[128] uniform; half[128] uniform; half[128] uniform; bfloat16[128] uniform; bfloat16[128] uniform

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> __device__ void bulk_wait() { asm volatile("cp.async.bulk.wait_group %0;" :: "n"(N) : "memory"); }
__device__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
#define REDUCE(what, to, from)                                                                     \
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." what " [%0], [%1], %2;"      \
                 :: "l"(to), "r"(shared(from)), "r"(256) : "memory")
extern "C" __global__ void reduce(const void *x, void *sum, void *least, const void *b, void *sum_b)
{
    __shared__ __align__(128) unsigned s[64], sb[64];
    int t = threadIdx.x;
    s[t] = ((const unsigned *)x)[t];
    sb[t] = ((const unsigned *)b)[t];
    fence_async();
    __syncthreads();
    if (t == 0) {
        REDUCE("add.noftz.f16", sum, s);
        REDUCE("min.f16", least, s);
        REDUCE("add.noftz.bf16", sum_b, sb);
        bulk_commit();
        bulk_wait<0>();
    }
}
