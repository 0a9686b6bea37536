// 1D stencil of radius 3 with a halo in shared memory
//
// family: stencil
// kernel: stencil_1d
// grid: 4
// block: 128
// args: int[518] below 100; out int[512]

#define RADIUS 3
#define BLOCK_SIZE 128
extern "C" __global__ void stencil_1d(const int *in, int *out)
{
  __shared__ int temp[BLOCK_SIZE + 2 * RADIUS];
  int gindex = threadIdx.x + blockIdx.x * blockDim.x + RADIUS;
  int lindex = threadIdx.x + RADIUS;
  temp[lindex] = in[gindex];
  if (threadIdx.x < RADIUS) {
    temp[lindex - RADIUS] = in[gindex - RADIUS];
    temp[lindex + BLOCK_SIZE] = in[gindex + BLOCK_SIZE];
  }
  __syncthreads();
  int result = 0;
  for (int offset = -RADIUS; offset <= RADIUS; offset++) result += temp[lindex + offset];
  out[gindex - RADIUS] = result;
}
