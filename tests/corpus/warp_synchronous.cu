// Warps that work on their own in shared memory, with __syncwarp only
//
// family: warp
// kernel: perWarp
// grid: 2
// block: 128
// args: int[256] bits; out int[256]

extern "C" __global__ void perWarp(const int *x, int *y)
{
    __shared__ int s[4][33];
    int lane = threadIdx.x & 31, w = threadIdx.x >> 5, i = blockIdx.x * 128 + threadIdx.x;
    s[w][lane] = x[i];
    if (lane == 0) s[w][32] = 0;
    __syncwarp();
    for (int k = 0; k < 4; k++) {
        int v = s[w][lane] ^ (s[w][lane + 1] << 1);
        __syncwarp();
        s[w][lane] = v;
        __syncwarp();
    }
    y[i] = s[w][lane];
}
