// Square transpose in place: a block swaps two tiles
//
// family: transpose
// kernel: inplace
// grid: 3 3
// block: 16 16
// args: float[48,48] iota

extern "C" __global__ void inplace(float *a)
{
    __shared__ float upper[16][17], lower[16][17];
    const int n = 48, bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    if (bx < by) return;
    upper[ty][tx] = a[(by * 16 + ty) * n + bx * 16 + tx];
    lower[ty][tx] = a[(bx * 16 + ty) * n + by * 16 + tx];
    __syncthreads();
    a[(by * 16 + ty) * n + bx * 16 + tx] = lower[tx][ty];
    if (bx > by) a[(bx * 16 + ty) * n + by * 16 + tx] = upper[tx][ty];
}
