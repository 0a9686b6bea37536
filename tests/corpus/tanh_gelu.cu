// tanhf, whose last multiply-add goes under the predicate of its only use
//
// family: machine learning
// kernel: gelu
// grid: 2
// block: 64
// approximate: 1e-6 absolute
// args: float[128] uniform -2 2; out float[128]

extern "C" __global__ void gelu(const float *x, float *y)
{
    int t = blockIdx.x * 64 + threadIdx.x;
    float v = x[t];
    y[t] = 0.5f * v * (1 + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
}
