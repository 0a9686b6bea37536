// Bitonic sort of a warp's registers by shuffles
//
// family: sort
// kernel: warpSort
// grid: 3
// block: 64
// args: int[192] bits; out int[192]

__device__ int swap(int x, int mask, int dir)
{
    int y = __shfl_xor_sync(0xffffffff, x, mask);
    return x < y == dir ? y : x;
}

extern "C" __global__ void warpSort(const int *in, int *out)
{
    int laneid = threadIdx.x & 31, i = blockIdx.x * blockDim.x + threadIdx.x;
    int x = in[i];
    for (int k = 2; k <= 32; k *= 2)
        for (int j = k / 2; j > 0; j /= 2)
            x = swap(x, j, ((laneid / j) & 1) ^ (k == 32 ? 0 : (laneid / k) & 1));
    out[i] = x;
}
