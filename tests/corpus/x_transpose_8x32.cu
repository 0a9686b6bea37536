// Transpose with a 32x33 tile by blocks of 8 rows, ragged
//
// family: transpose
// kernel: transposeNoBankConflicts
// grid: 3 2
// block: 32 8
// args: float[45,70] uniform; out float[70,45]; int 70; int 45
const int TILE_DIM = 32;
const int BLOCK_ROWS = 8;

extern "C" __global__ void transposeNoBankConflicts(const float *idata, float *odata, int width, int height)
{
  __shared__ float tile[TILE_DIM][TILE_DIM+1];

  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;

  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
     if (x < width && y + j < height)
        tile[threadIdx.y+j][threadIdx.x] = idata[(y+j)*width + x];

  __syncthreads();

  x = blockIdx.y * TILE_DIM + threadIdx.x;
  y = blockIdx.x * TILE_DIM + threadIdx.y;

  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
     if (x < height && y + j < width)
        odata[(y+j)*height + x] = tile[threadIdx.x][threadIdx.y + j];
}
