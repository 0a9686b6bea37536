// Matrix transpose through a tile without padding: 32-way conflicts
//
// family: transpose
// kernel: transpose
// grid: 2 2
// block: 32 32
// args: int[50,60] iota; out int[60,50]; int 50; int 60

extern "C" __global__ void transpose(const int* a, int* b, int rows, int cols)
{
    __shared__ int tile[32][32];
    int r = blockIdx.y * 32 + threadIdx.y, c = blockIdx.x * 32 + threadIdx.x;
    if (r < rows && c < cols) tile[threadIdx.y][threadIdx.x] = a[r * cols + c];
    __syncthreads();
    r = blockIdx.y * 32 + threadIdx.x; c = blockIdx.x * 32 + threadIdx.y;
    if (r < rows && c < cols) b[c * rows + r] = tile[threadIdx.x][threadIdx.y];
}
