// Votes and active masks, in branches with the right masks
//
// family: warp
// kernel: votes
// grid: 1
// block: 96
// args: int[96] below 8; out uint[6,96]

extern "C" __global__ void votes(const int *x, unsigned *r)
{
    int t = threadIdx.x, v = x[t];
    r[t] = __ballot_sync(0xffffffff, v > 3);
    r[96 + t] = __any_sync(0xffffffff, v == 7);
    r[192 + t] = __all_sync(0xffffffff, v < 8);
    if ((t & 31) < 20) {
        r[288 + t] = __ballot_sync(0x000fffff, v & 1);
        r[384 + t] = __all_sync(0x000fffff, v > 0) * 2 + __any_sync(0x000fffffu, v > 6);
    }
    __syncwarp();
    unsigned odd = __ballot_sync(~0u, v & 1);
    if (v & 1) r[480 + t] = __shfl_sync(odd, t, __ffs(odd) - 1);
}
