// Every block adds to one total with a plain +=
//
// family: planted
// kernel: total
// grid: 4
// block: 64
// args: int[256] below 10; int[1] zeros
// planted: race
extern "C" __global__ void total(const int *x, int *sum)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    for (int k = 32; k > 0; k >>= 1) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) *sum += s[0]; // fault
}
