// Warp-aggregated atomic increment with a coalesced group of cooperative groups
//
// family: warp
// kernel: filter
// grid: 4
// block: 64
// args: float[240] uniform; int[1] zeros; out float[240]; out float[4,2]; int 240
// headers: cooperative_groups.h
// compare: none for 2
// counters: none
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__device__ int atomicAggInc(int *ctr)
{
    auto g = cg::coalesced_threads();
    int warp_res;
    if (g.thread_rank() == 0)
        warp_res = atomicAdd(ctr, g.size());
    return g.shfl(warp_res, 0) + g.thread_rank();
}
extern "C" __global__ void filter(const float *src, int *nres, float *dst, float *most, int n)
{
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int i = block.group_index().x * block.size() + block.thread_rank();
    float v = i < n ? src[i] : -2.0f;
    if (v > 0) dst[atomicAggInc(nres)] = v;
    for (int o = tile.size() / 2; o > 0; o /= 2) v = fmaxf(v, tile.shfl_down(v, o));
    __shared__ float part[8];
    if (tile.thread_rank() == 0) part[tile.meta_group_rank()] = v;
    cg::sync(block);
    if (block.thread_rank() < 2) {
        float m = -2.0f;
        for (int k = block.thread_rank(); k < 8; k += 2) m = m > part[k] ? m : part[k];
        most[blockIdx.x * 2 + block.thread_rank()] = m;
    }
}
