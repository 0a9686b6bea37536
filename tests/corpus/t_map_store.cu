// Tensor copies out of shared memory: what lies outside is not stored
//
// family: tensor copies
// kernel: store
// grid: 2 3
// block: 128
// args: out map float[20,24] box 8,16

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
struct __align__(64) CUtensorMap { unsigned long long opaque[16]; };
__device__ void map_store(const CUtensorMap *map, int c0, int c1, const void *from)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];"
                 :: "l"(map), "r"(shared(from)), "r"(c0), "r"(c1) : "memory");
}
__device__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> __device__ void bulk_wait() { asm volatile("cp.async.bulk.wait_group %0;" :: "n"(N) : "memory"); }
extern "C" __global__ void store(const __grid_constant__ CUtensorMap map)
{
    __shared__ __align__(128) float s[8][16];
    int t = threadIdx.x;
    s[t / 16][t % 16] = t + 1000.f * (blockIdx.x + 2 * blockIdx.y);
    fence_async();
    __syncthreads();
    if (t == 0) {
        map_store(&map, blockIdx.x * 16, blockIdx.y * 8, s);
        bulk_commit();
        bulk_wait<0>();
    }
}
