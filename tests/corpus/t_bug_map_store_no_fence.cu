// A tensor copy out of shared memory without a proxy fence after the stores
//
// family: planted
// kernel: store
// grid: 2
// block: 64
// planted: asynchronous copy, race
// args: out map float[16,8] box 8,8

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
struct __align__(64) CUtensorMap { unsigned long long opaque[16]; };
__device__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> __device__ void bulk_wait() { asm volatile("cp.async.bulk.wait_group %0;" :: "n"(N) : "memory"); }
extern "C" __global__ void store(const __grid_constant__ CUtensorMap map)
{
    __shared__ __align__(128) float s[64];
    int t = threadIdx.x;
    s[t] = t; // fault
    __syncthreads(); // fence.proxy.async is missing before it
    if (t == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" :: "l"(&map), "r"(0), "r"(8 * blockIdx.x), "r"(shared(s)) : "memory"); // fault
        bulk_commit();
        bulk_wait<0>();
    }
}
