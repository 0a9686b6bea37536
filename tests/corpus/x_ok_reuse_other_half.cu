// A shared array used first as floats, then as bytes, with a barrier between
//
// family: tempting
// kernel: reuse
// grid: 2
// block: 64
// args: float[128] uniform; out uchar[128]; out float[128]
extern "C" __global__ void reuse(const float *x, unsigned char *b, float *y)
{
    __shared__ float f[64];
    unsigned char *bytes = (unsigned char *)f;
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    f[t] = x[i];
    __syncthreads();
    float v = f[63 - t];
    __syncthreads();
    bytes[t] = (unsigned char)(v > 0 ? v * 255 : 0);   // each its own byte of a shared word
    __syncthreads();
    b[i] = bytes[(t + 1) % 64] ^ bytes[t];
    y[i] = v;
}
