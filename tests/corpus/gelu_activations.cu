// Activations of a network: GELU by tanhf and by erff, SiLU, softplus
//
// family: attention
// kernel: activations
// grid: 4
// block: 64
// approximate: 3e-6 absolute
// args: float[250] uniform -5 5; out float[4,250]; int 250

extern "C" __global__ void activations(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        y[i] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
        y[n + i] = v * 0.5f * (1.0f + erff(v * 0.70710678f));
        y[2 * n + i] = v / (1.0f + expf(-v));
        y[3 * n + i] = log1pf(expf(v));
    }
}
