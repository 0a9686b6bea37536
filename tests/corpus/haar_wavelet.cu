// Haar wavelet, all levels, in a block
//
// family: transform
// kernel: haar
// grid: 3
// block: 64
// args: float[3,128] uniform; out float[3,128]

extern "C" __global__ void haar(const float *in, float *out)
{
    __shared__ float s[128];
    const float r = 0.70710678118f;
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 128 + t]; s[t + 64] = in[blockIdx.x * 128 + t + 64];
    __syncthreads();
    for (int n = 64; n >= 1; n >>= 1) {
        float a, b;
        if (t < n) { a = s[2 * t]; b = s[2 * t + 1]; }
        __syncthreads();
        if (t < n) { out[blockIdx.x * 128 + n + t] = (a - b) * r; s[t] = (a + b) * r; }
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x * 128] = s[0];
}
