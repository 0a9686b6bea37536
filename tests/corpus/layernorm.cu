// Layer normalisation, exact square root and division
//
// family: attention
// kernel: layernorm
// grid: 4
// block: 128
// args: float[4,300] uniform; float[300] uniform; float[300] uniform; out float[4,300]; int 300

__device__ float total(float v, float* scratch)
{
    for (int d = 16; d; d >>= 1) v += __shfl_down_sync(0xffffffff, v, d);
    if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = v;
    __syncthreads();
    v = scratch[0] + scratch[1] + scratch[2] + scratch[3];
    __syncthreads();
    return v;
}

extern "C" __global__ void layernorm(const float* x, const float* gamma, const float* beta, float* y, int n)
{
    __shared__ float scratch[4];
    x += blockIdx.x * n; y += blockIdx.x * n;
    float s = 0;
    for (int i = threadIdx.x; i < n; i += 128) s += x[i];
    float mean = total(s, scratch) / n;
    float v = 0;
    for (int i = threadIdx.x; i < n; i += 128) { float d = x[i] - mean; v += d * d; }
    float inv = 1.0f / sqrtf(total(v, scratch) / n + 1e-5f);
    for (int i = threadIdx.x; i < n; i += 128) y[i] = (x[i] - mean) * inv * gamma[i] + beta[i];
}
