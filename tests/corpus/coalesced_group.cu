// The group of the threads that are active in a branch: size, rank, shuffles
//
// family: cooperative groups
// kernel: coalesced
// grid: 2
// block: 64
// headers: cooperative_groups.h
// args: int[128] below 100; out int[128]; out int[128]

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void coalesced(const int *x, int *rank, int *from)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    rank[i] = -1;
    if (x[i] % 3 == 0) {
        cg::coalesced_group g = cg::coalesced_threads();
        rank[i] = g.thread_rank() + 100 * g.size();
        from[i] = g.shfl(x[i], g.size() - 1);
    }
}
