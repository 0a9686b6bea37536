// Reversal through shared memory without a barrier between store and load
//
// family: planted
// kernel: reverse
// grid: 1
// block: 96
// planted: race
// args: int[96] iota; out int[96]

extern "C" __global__ void reverse(const int *d, int *out)
{
    __shared__ int s[96];
    int t = threadIdx.x;
    s[t] = d[t];
    out[t] = s[95 - t]; // fault
}
