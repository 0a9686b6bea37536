// A barrier in a loop that threads leave at different times
//
// family: planted
// kernel: loop
// grid: 1
// block: 64
// planted: barrier, race
// args: int[64] below 5; out int[64]

extern "C" __global__ void loop(const int *n, int *y)
{
    __shared__ int s[64];
    int t = threadIdx.x, sum = 0;
    s[t] = t;
    for (int k = 0; k < n[t]; k++) {
        __syncthreads(); // fault
        sum += s[(t + k) & 63];
    }
    s[t] = sum;
    __syncthreads(); // fault
    y[t] = s[63 - t];
}
