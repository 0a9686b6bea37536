// Division and square root, correctly rounded: bits have to agree
//
// family: math functions
// kernel: exact
// grid: 2
// block: 128
// args: float[256] bits; float[256] uniform -1e-20 1e-20; out float[4,256]

extern "C" __global__ void exact(const float *x, const float *y, float *r)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = x[i], b = y[i];
    a = a == a ? a : 1.0f;
    r[i] = a / b; r[256 + i] = b / a; r[512 + i] = sqrtf(fabsf(a)); r[768 + i] = 1.0f / a;
}
