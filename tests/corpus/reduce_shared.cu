// Sum of each block in shared memory, halving the stride
//
// family: reduction
// kernel: reduce
// grid: 4
// block: 256
// dynamic shared: 1024
// args: float[1000] uniform; out float[4]; int 1000

extern "C" __global__ void reduce(const float *g_idata, float *g_odata, int n) {
  extern __shared__ float sdata[];
  unsigned int tid = threadIdx.x;
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  sdata[tid] = (i < n) ? g_idata[i] : 0;
  __syncthreads();
  for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (tid < s) sdata[tid] += sdata[tid + s];
    __syncthreads();
  }
  if (tid == 0) g_odata[blockIdx.x] = sdata[0];
}
