// A step of conjugate gradients in one block, a tridiagonal matrix
//
// family: linear algebra
// kernel: cgIterate
// grid: 1
// block: 64
// args: float[64] uniform; out float[64]; int 4

__device__ float blockDot(float a, float b)
{
    __shared__ float red[64];
    red[threadIdx.x] = a * b;
    __syncthreads();
    for (int s = 32; s > 0; s >>= 1) {
        if (threadIdx.x < s) red[threadIdx.x] += red[threadIdx.x + s];
        __syncthreads();
    }
    float v = red[0];
    __syncthreads();
    return v;
}

extern "C" __global__ void cgIterate(const float* b, float* xout, int iterations)
{
    __shared__ float p[66];
    int i = threadIdx.x;
    float x = 0, r = b[i];
    if (i == 0) p[0] = p[65] = 0;
    p[i + 1] = r;
    float rr = blockDot(r, r);
    for (int k = 0; k < iterations; k++) {
        float Ap = 4 * p[i + 1] - p[i] - p[i + 2];
        float alpha = rr / blockDot(p[i + 1], Ap);
        x += alpha * p[i + 1];
        r -= alpha * Ap;
        float rn = blockDot(r, r), beta = rn / rr;
        rr = rn;
        p[i + 1] = r + beta * p[i + 1];
        __syncthreads();
    }
    xout[i] = x;
}
