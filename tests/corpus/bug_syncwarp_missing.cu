// The last warp of a reduction as it was written before Volta, without __syncwarp
//
// family: planted
// kernel: reduce
// grid: 2
// block: 64
// planted: race
// args: int[128] below 100; out int[2]

extern "C" __global__ void reduce(const int *in, int *out)
{
    __shared__ volatile int s[64];
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 64 + t];
    __syncthreads();
    if (t < 32) {
        s[t] += s[t + 32];
        s[t] += s[t + 16]; // fault
        s[t] += s[t + 8]; // fault
        s[t] += s[t + 4]; // fault
        s[t] += s[t + 2]; // fault
        s[t] += s[t + 1]; // fault
    }
    if (t == 0) out[blockIdx.x] = s[0];
}
