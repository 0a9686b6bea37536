// Histogram with one atomic for each value of a warp, by match_any
//
// family: warp
// kernel: hist
// grid: 3
// block: 96
// args: uchar[800] below 7; uint[8] zeros; out uint[800]; int 800
extern "C" __global__ void hist(const unsigned char *v, unsigned *bins, unsigned *leaderOf, int n)
{
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        unsigned active = __activemask();
        unsigned peers = __match_any_sync(active, v[i]);
        int leader = __ffs(peers) - 1;
        unsigned lt, le;
        asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
        asm volatile("mov.u32 %0, %%lanemask_le;" : "=r"(le));
        leaderOf[i] = leader | __popc(peers & lt) << 8 | __popc(peers & le) << 16;
        if ((threadIdx.x & 31) == leader) atomicAdd(bins + v[i], __popc(peers));
    }
}
