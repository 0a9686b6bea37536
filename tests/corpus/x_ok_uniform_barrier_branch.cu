// Barriers inside branches and loops that all threads of a block take alike
//
// family: tempting
// kernel: uniform
// grid: 4
// block: 48
// args: int[4] values 0 3 1 7; int[192] below 50; out int[192]
extern "C" __global__ void uniform(const int *mode, const int *in, int *out)
{
    __shared__ int s[48];
    int t = threadIdx.x, i = blockIdx.x * 48 + t, m = mode[blockIdx.x];
    s[t] = in[i];
    if (m == 0) { out[i] = s[t]; return; }
    int r = 0;
    while (m-- > 0) {
        __syncthreads();
        r += s[(t + 7 * m) % 48];
        if (m == 1) {
            __syncthreads();
            s[47 - t] = r;
        }
    }
    __syncthreads();
    out[i] = r + s[t];
}
