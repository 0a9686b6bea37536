// Hillis and Steele's scan in one buffer with one barrier a step
//
// family: planted
// kernel: scan
// grid: 1
// block: 64
// planted: race
// args: int[64] below 9; out int[64]

extern "C" __global__ void scan(const int *in, int *out)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    for (int d = 1; d < 64; d *= 2) {
        __syncthreads();
        if (t >= d) s[t] += s[t - d]; // fault
    }
    out[t] = s[t];
}
