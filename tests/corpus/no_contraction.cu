// The option -fmad=false: products and sums rounded apart
//
// family: contraction
// kernel: apart
// grid: 1
// block: 128
// options: -fmad=false
// args: float[128] uniform; float[128] uniform; float[128] uniform; out float[3,128]

extern "C" __global__ void apart(const float* a, const float* b, const float* c, float* r)
{
    int i = threadIdx.x;
    r[i] = a[i] * b[i] + c[i];
    r[128 + i] = c[i] - a[i] * b[i];
    r[256 + i] = a[i] * a[i] - b[i] * b[i];
}
