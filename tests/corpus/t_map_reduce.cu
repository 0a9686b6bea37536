// Tensor reductions of three blocks: whole numbers are added, and the largest kept
//
// family: tensor copies
// kernel: reduce
// grid: 3
// block: 128
// args: map int[12,16] below 100 box 8,16; map uint[12,16] below 100 box 8,16; int[3,128] below 1000

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
struct __align__(64) CUtensorMap { unsigned long long opaque[16]; };
__device__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> __device__ void bulk_wait() { asm volatile("cp.async.bulk.wait_group %0;" :: "n"(N) : "memory"); }
extern "C" __global__ void reduce(const __grid_constant__ CUtensorMap sum, const __grid_constant__ CUtensorMap most, const int *x)
{
    __shared__ __align__(128) int s[128];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 128 + t];
    fence_async();
    __syncthreads();
    if (t == 0) {
        int row = 3 * (int)blockIdx.x;
        asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];"
                     :: "l"(&sum), "r"(0), "r"(row), "r"(shared(s)) : "memory");
        asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.max.tile.bulk_group [%0, {%1, %2}], [%3];"
                     :: "l"(&most), "r"(4), "r"(row), "r"(shared(s)) : "memory");
        bulk_commit();
        bulk_wait<0>();
    }
}
