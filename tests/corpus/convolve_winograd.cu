// Winograd's F(2,3): two outputs of a 3-tap filter by four products
//
// family: convolution
// kernel: winograd
// grid: 2
// block: 64
// args: float[258] uniform; float[3] values 0.3 -0.7 0.25; out float[256]

extern "C" __global__ void winograd(const float* d, const float* g, float* y)
{
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    float g0 = g[0], g1 = g[1], g2 = g[2];
    float m1 = (d[i] - d[i + 2]) * g0;
    float m2 = (d[i + 1] + d[i + 2]) * ((g0 + g1 + g2) * 0.5f);
    float m3 = (d[i + 2] - d[i + 1]) * ((g0 - g1 + g2) * 0.5f);
    float m4 = (d[i + 1] - d[i + 3]) * g2;
    y[i] = m1 + m2 + m3;
    y[i + 1] = m2 - m3 - m4;
}
