// Histogram where equal keys of a warp are added together (match_any)
//
// family: histogram
// kernel: aggregated
// grid: 3
// block: 64
// args: int[192] below 6; int[6] zeros

extern "C" __global__ void aggregated(const int *key, int *count)
{
    int k = key[blockIdx.x * blockDim.x + threadIdx.x];
    unsigned peers = __match_any_sync(0xffffffff, k);
    if ((threadIdx.x & 31) == __ffs(peers) - 1) atomicAdd(&count[k], __popc(peers));
}
