// Bulk reductions of whole numbers from four blocks: add, min, max, xor, 64 bits
//
// family: bulk copies
// kernel: reduce
// grid: 4
// block: 64
// args: uint[4,64] bits; uint[64] bits; int[64] bits; uint[64] below 100; uint[64] bits; ulong[32] bits

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> __device__ void bulk_wait() { asm volatile("cp.async.bulk.wait_group %0;" :: "n"(N) : "memory"); }
__device__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
#define REDUCE(what, to, from)                                                                     \
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." what " [%0], [%1], %2;"      \
                 :: "l"(to), "r"(shared(from)), "r"(256) : "memory")
extern "C" __global__ void reduce(const unsigned *x, unsigned *sum, int *least, unsigned *most,
                                  unsigned *parity, unsigned long long *wide)
{
    __shared__ __align__(128) unsigned s[64];
    __shared__ __align__(128) unsigned long long pairs[32];
    int t = threadIdx.x;
    x += blockIdx.x * 64;
    s[t] = x[t];
    if (t < 32) pairs[t] = x[t] | (unsigned long long)x[t + 32] << 32;
    fence_async();
    __syncthreads();
    if (t == 0) {
        REDUCE("add.u32", sum, s);
        REDUCE("min.s32", least, s);
        REDUCE("max.u32", most, s);
        REDUCE("xor.b32", parity, s);
        REDUCE("add.u64", wide, pairs);
        bulk_commit();
        bulk_wait<0>();
    }
}
