// Bitonic sort whose two directions are two swaps
//
// family: sorting
// kernel: sort
// grid: 2
// block: 128
// args: int[256] bits; int 128

extern "C" __global__ void sort(int *x, int n)
{
    __shared__ int s[128];
    int i = threadIdx.x;
    x += blockIdx.x * 128;
    s[i] = x[i];
    __syncthreads();
    for (int k = 2; k <= n; k <<= 1)
        for (int j = k >> 1; j > 0; j >>= 1) {
            int p = i ^ j;
            if (p > i) {
                if ((i & k) == 0 && s[i] > s[p]) { int v = s[i]; s[i] = s[p]; s[p] = v; }
                if ((i & k) != 0 && s[i] < s[p]) { int v = s[i]; s[i] = s[p]; s[p] = v; }
            }
            __syncthreads();
        }
    x[i] = s[i];
}
