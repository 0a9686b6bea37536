// A reduction whose loop lacks the barrier
//
// family: planted
// kernel: reduce
// grid: 2
// block: 128
// planted: race
// args: float[256] uniform; out float[2]

extern "C" __global__ void reduce(const float *in, float *out)
{
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 128 + t];
    __syncthreads();
    for (int k = 64; k > 0; k >>= 1)
        if (t < k) s[t] += s[t + k]; // fault
    if (t == 0) out[blockIdx.x] = s[0];
}
