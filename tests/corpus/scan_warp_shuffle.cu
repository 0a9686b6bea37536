// Scan by shuffles within warps, then over the warps' sums
//
// family: scan
// kernel: blockScan
// grid: 2
// block: 1024
// args: uint[2000] below 9; out uint[2000]; int 2000

extern "C" __global__ void __launch_bounds__(1024) blockScan(const unsigned *in, unsigned *out, int n)
{
    __shared__ unsigned sums[32];
    unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int i = blockIdx.x * 1024 + threadIdx.x;
    unsigned v = i < n ? in[i] : 0u;
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
        unsigned u = __shfl_up_sync(0xffffffff, v, d);
        if (lane >= d) v += u;
    }
    if (lane == 31) sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
        unsigned s = sums[lane];
        for (int d = 1; d < 32; d <<= 1) {
            unsigned u = __shfl_up_sync(0xffffffff, s, d);
            if (lane >= d) s += u;
        }
        sums[lane] = s;
    }
    __syncthreads();
    if (warp) v += sums[warp - 1];
    if (i < n) out[i] = v;
}
