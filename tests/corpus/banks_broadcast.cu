// Broadcasts, pairs of lanes in one word, and lanes that stay out
//
// family: banks
// kernel: broadcasts
// grid: 2
// block: 96
// args: int[96] bits; out int[3,192]

extern "C" __global__ void broadcasts(const int *x, int *r)
{
    __shared__ int s[96];
    int t = threadIdx.x, i = blockIdx.x * 96 + t;
    s[t] = x[t];
    __syncthreads();
    r[i] = s[blockIdx.x * 5];
    r[192 + i] = s[t / 2] + s[t / 32];
    if (t % 3 == 0) r[384 + i] = s[(t * 2) % 96];
}
