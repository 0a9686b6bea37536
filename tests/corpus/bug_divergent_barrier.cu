// A barrier in a branch that some threads of each warp skip
//
// family: planted
// kernel: halves
// grid: 1
// block: 64
// planted: barrier
// args: int[64] iota; out int[64]

extern "C" __global__ void halves(const int *x, int *y)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    if (t % 2 == 0) {
        __syncthreads(); // fault
        y[t] = s[63 - t];
    } else {
        y[t] = t;
    }
    __syncthreads(); // fault
    y[t] += s[t];
}
