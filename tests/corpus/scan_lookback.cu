// Single-pass scan: each block waits for the prefix of the one before it
//
// family: scan
// kernel: chained
// grid: 5
// block: 64
// args: int[320] below 100; out int[320]; int[5] zeros; int[6] zeros

extern "C" __global__ void chained(const int* in, int* out, volatile int* flags, volatile int* prefix)
{
    __shared__ int s[64];
    __shared__ int before;
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t] = in[i];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        int v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    if (t == 0) {
        int b = blockIdx.x;
        if (b > 0) {
            while (atomicAdd((int*)&flags[b - 1], 0) == 0) { }
            __threadfence();
            before = prefix[b];
        } else {
            before = 0;
        }
        prefix[b + 1] = before + s[63];
        __threadfence();
        atomicExch((int*)&flags[b], 1);
    }
    __syncthreads();
    out[i] = s[t] + before;
}
