// Block reduction with shuffles, a template of the block's size
//
// family: reduction
// kernel: reduce<256>
// grid: 4
// block: 256
// args: float[1500] uniform; out float[4]; int 1500

__inline__ __device__ float warpReduceSum(float val) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2)
    val += __shfl_down_sync(0xffffffff, val, offset);
  return val;
}

template <int BLOCK>
__global__ void reduce(const float* __restrict__ in, float* __restrict__ out, int n) {
  static __shared__ float shared[BLOCK / 32];
  float sum = 0.f;
  for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * gridDim.x) sum += in[i];
  int lane = threadIdx.x % warpSize, wid = threadIdx.x / warpSize;
  sum = warpReduceSum(sum);
  if (lane == 0) shared[wid] = sum;
  __syncthreads();
  sum = (threadIdx.x < BLOCK / warpSize) ? shared[lane] : 0;
  if (wid == 0) sum = warpReduceSum(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
