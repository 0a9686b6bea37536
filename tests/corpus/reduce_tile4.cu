// Cooperative tiles of 4 threads, any() and ballot() of the tile
//
// family: reduction
// kernel: quads
// grid: 2
// block: 96
// headers: cooperative_groups.h
// args: int[192] below 7; out int[48]; out uint[192]

#include <cooperative_groups.h>
using namespace cooperative_groups;

extern "C" __global__ void quads(const int *x, int *most, unsigned *bits)
{
    thread_block_tile<4> q = tiled_partition<4>(this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = x[i];
    for (int d = 1; d < 4; d <<= 1) v = max(v, q.shfl_xor(v, d));
    if (q.thread_rank() == 0) most[i / 4] = v;
    bits[i] = q.ballot(x[i] > 3) | (q.any(x[i] == 6) << 8) | (q.all(x[i] < 6) << 9);
}
