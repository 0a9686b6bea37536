// All shuffles, widths and out-of-range lanes, for int, float, double and long long
//
// family: warp
// kernel: shuffles
// grid: 1
// block: 64
// args: int[64] bits; out int[8,64]; out double[64]; out long[64]

extern "C" __global__ void shuffles(const int *in, int *out, double *d, long long *l)
{
    const unsigned all = 0xffffffff;
    int t = threadIdx.x, v = in[t];
    out[t] = __shfl_sync(all, v, (t * 5 + 3) & 31);
    out[64 + t] = __shfl_up_sync(all, v, 3);
    out[128 + t] = __shfl_down_sync(all, v, 29);
    out[192 + t] = __shfl_xor_sync(all, v, 21);
    out[256 + t] = __shfl_sync(all, v, 13, 8);
    out[320 + t] = __shfl_up_sync(all, v, 1, 4);
    out[384 + t] = __shfl_down_sync(all, v, 5, 16);
    out[448 + t] = __shfl_xor_sync(all, v, 9, 16);
    d[t] = __shfl_down_sync(all, v * 0.5, 1);
    l[t] = __shfl_xor_sync(all, (long long)v * 4000000007LL, 16);
}
