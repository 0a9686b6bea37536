// A loop that ends for all at once by __syncthreads_or
//
// family: tempting
// kernel: settle
// grid: 2
// block: 40
// args: int[80] below 9; out int[80]; out int[2]
extern "C" __global__ void settle(const int *in, int *out, int *rounds)
{
    __shared__ int s[40];
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 40 + t];
    __syncthreads();
    int n = 0;
    bool changed;
    do {
        int l = t > 0 ? s[t - 1] : 0, v = s[t];
        changed = l > v;
        __syncthreads();
        if (changed) s[t] = l;
        ++n;
    } while (__syncthreads_or(changed));
    out[blockIdx.x * 40 + t] = s[t];
    if (t == 0) rounds[blockIdx.x] = n;
}
