// 2-D convolution, 5x5 filter in constant memory, tile with halo loaded by blocks of the output's size
//
// family: stencil
// kernel: conv2d
// grid: 3 3
// block: 16 16
// args: float[41,37] uniform; out float[41,37]; int 37; int 41
#define R 2
#define TILE 16
#define W (TILE + 2 * R)
__constant__ float c_Filter[2 * R + 1][2 * R + 1] = {
    {1, 4, 6, 4, 1}, {4, 16, 24, 16, 4}, {6, 24, 36, 24, 6}, {4, 16, 24, 16, 4}, {1, 4, 6, 4, 1}};

extern "C" __global__ void conv2d(const float *src, float *dst, int w, int h)
{
    __shared__ float tile[W][W];
    int bx = blockIdx.x * TILE - R, by = blockIdx.y * TILE - R;
    for (int k = threadIdx.y * TILE + threadIdx.x; k < W * W; k += TILE * TILE) {
        int ty = k / W, tx = k % W, x = bx + tx, y = by + ty;
        tile[ty][tx] = (x >= 0 && x < w && y >= 0 && y < h) ? src[y * w + x] : 0.0f;
    }
    __syncthreads();
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x >= w || y >= h) return;
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 2 * R + 1; i++)
#pragma unroll
        for (int j = 0; j < 2 * R + 1; j++)
            sum += c_Filter[i][j] * tile[threadIdx.y + i][threadIdx.x + j];
    dst[y * w + x] = sum / 256.0f;
}
