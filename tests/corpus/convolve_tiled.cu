// Tiled 2D convolution, the mask in constant memory, the block larger than its output tile
//
// family: convolution
// kernel: conv2d
// grid: 4 3
// block: 16 16
// args: float[30,41] uniform; out float[30,41]; int 30; int 41

#define O_TILE 12
#define MASK 5
__constant__ float mask[MASK][MASK] = {
    {1, 4, 7, 4, 1}, {4, 16, 26, 16, 4}, {7, 26, 41, 26, 7}, {4, 16, 26, 16, 4}, {1, 4, 7, 4, 1}};

extern "C" __global__ void conv2d(const float *in, float *out, int height, int width)
{
    __shared__ float Ns[O_TILE + MASK - 1][O_TILE + MASK - 1];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row_o = blockIdx.y * O_TILE + ty, col_o = blockIdx.x * O_TILE + tx;
    int row_i = row_o - MASK / 2, col_i = col_o - MASK / 2;
    if (row_i >= 0 && row_i < height && col_i >= 0 && col_i < width)
        Ns[ty][tx] = in[row_i * width + col_i];
    else
        Ns[ty][tx] = 0.0f;
    __syncthreads();
    float sum = 0.0f;
    if (ty < O_TILE && tx < O_TILE) {
        for (int i = 0; i < MASK; i++)
            for (int j = 0; j < MASK; j++) sum += mask[i][j] * Ns[i + ty][j + tx];
        if (row_o < height && col_o < width) out[row_o * width + col_o] = sum / 273.0f;
    }
}
