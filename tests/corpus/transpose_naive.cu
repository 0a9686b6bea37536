// Matrix transpose, naive, a matrix that is no multiple of the block
//
// family: transpose
// kernel: transposeNaive
// grid: 3 2
// block: 32 8
// args: float[60,90] iota; out float[90,60]; int 90; int 60

extern "C" __global__ void transposeNaive(const float *idata, float *odata, int width, int height)
{
  int x = blockIdx.x * 32 + threadIdx.x;
  int y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < width && y + j < height) odata[x * height + y + j] = idata[(y + j) * width + x];
}
