// Global accesses: offset, strided, reversed, gathered, unaligned vectors of 8 bytes
//
// family: banks
// kernel: touch
// grid: 3
// block: 64
// args: float[2048] iota; int[192] below 2048; out float[5,192]

extern "C" __global__ void touch(const float* x, const int* index, float* y)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    y[i] = x[i + 1];
    y[192 + i] = x[i * 5];
    y[384 + i] = x[2047 - i * 2];
    y[576 + i] = x[index[i]];
    float2 v = ((const float2*)(x + 2))[i];
    y[959 - i] = v.x * v.y;
}
