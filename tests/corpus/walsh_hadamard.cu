// Fast Walsh-Hadamard transform of 512 floats
//
// family: transform
// kernel: fwt
// grid: 2
// block: 256
// args: float[1024] uniform

extern "C" __global__ void fwt(float *d)
{
    __shared__ float s[512];
    float *p = d + blockIdx.x * 512;
    for (int i = threadIdx.x; i < 512; i += blockDim.x) s[i] = p[i];
    for (int stride = 256; stride > 0; stride >>= 1) {
        __syncthreads();
        int lo = threadIdx.x & (stride - 1), i = ((threadIdx.x - lo) << 1) + lo;
        float a = s[i], b = s[i + stride];
        s[i] = a + b;
        s[i + stride] = a - b;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 512; i += blockDim.x) p[i] = s[i];
}
