// Softmax of rows with an online maximum and expf
//
// family: attention
// kernel: softmax
// grid: 5
// block: 64
// approximate: 8 ulp
// args: float[5,100] uniform -4 4; out float[5,100]; int 100

extern "C" __global__ void softmax(const float* in, float* out, int n)
{
    __shared__ float m[64], s[64];
    const float* x = in + blockIdx.x * n;
    float mx = -INFINITY, sum = 0.f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float v = x[i], old = mx;
        mx = fmaxf(mx, v);
        sum = sum * expf(old - mx) + expf(v - mx);
    }
    m[threadIdx.x] = mx; s[threadIdx.x] = sum;
    __syncthreads();
    for (int k = 32; k > 0; k /= 2) {
        if (threadIdx.x < k) {
            float a = m[threadIdx.x], b = m[threadIdx.x + k], c = fmaxf(a, b);
            s[threadIdx.x] = s[threadIdx.x] * expf(a - c) + s[threadIdx.x + k] * expf(b - c);
            m[threadIdx.x] = c;
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[blockIdx.x * n + i] = expf(x[i] - m[0]) / s[0];
}
