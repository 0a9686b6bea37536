// Reduction with cooperative groups: block, tile of 32, reduce by shuffles
//
// family: reduction
// kernel: cgReduce
// grid: 3
// block: 160
// headers: cooperative_groups.h
// args: int[480] below 1000; out int[3]; out int[480]

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__device__ int tileSum(cg::thread_block_tile<32> tile, int v)
{
    for (int i = tile.size() / 2; i > 0; i /= 2) v += tile.shfl_down(v, i);
    return tile.shfl(v, 0);
}

extern "C" __global__ void cgReduce(const int* in, int* sums, int* ranks)
{
    __shared__ int part[32];
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    int i = block.group_index().x * block.size() + block.thread_rank();
    int s = tileSum(tile, in[i]);
    if (tile.thread_rank() == 0) part[tile.meta_group_rank()] = s;
    block.sync();
    if (block.thread_rank() == 0) {
        int t = 0;
        for (int k = 0; k < tile.meta_group_size(); ++k) t += part[k];
        sums[blockIdx.x] = t;
    }
    ranks[i] = tile.thread_rank() * 100 + tile.meta_group_rank();
}
