// Sums of neighbours read and written in one step of a scan
//
// family: planted
// kernel: scan
// grid: 2
// block: 96
// args: int[192] below 10; out int[192]
// planted: race
extern "C" __global__ void scan(const int *in, int *out)
{
    __shared__ int s[96];
    int t = threadIdx.x, g = blockIdx.x * 96 + t;
    s[t] = in[g];
    for (int d = 1; d < 96; d *= 2) {
        __syncthreads();
        if (t >= d)
            s[t] += s[t - d]; // fault
    }
    out[g] = s[t];
}
