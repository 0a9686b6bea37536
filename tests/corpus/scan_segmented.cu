// Segmented scan: a flag restarts the sum
//
// family: scan
// kernel: segscan
// grid: 2
// block: 96
// args: int[192] below 10; uchar[192] below 2; out int[192]

extern "C" __global__ void segscan(const int *x, const unsigned char *head, int *y)
{
    __shared__ int val[96];
    __shared__ unsigned char flag[96];
    const int t = threadIdx.x, g = blockIdx.x * 96 + t;
    val[t] = x[g]; flag[t] = head[g];
    __syncthreads();
    for (int d = 1; d < 96; d <<= 1) {
        int v = val[t]; unsigned char f = flag[t];
        if (t >= d) {
            if (!f) v += val[t - d];
            f |= flag[t - d];
        }
        __syncthreads();
        val[t] = v; flag[t] = f;
        __syncthreads();
    }
    y[g] = val[t];
}
