// sinf, cosf, tanf, sincosf, sinpif, cospif, small and large arguments
//
// family: math functions
// kernel: trigonometry
// grid: 2
// block: 64
// approximate: 4 ulp
// args: float[128] uniform -100 100; out float[8,128]

extern "C" __global__ void trigonometry(const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = 128;
    float v = i % 4 == 3 ? x[i] * 1e6f : i % 4 == 2 ? x[i] * 1e-3f : x[i], s, c;
    y[i] = sinf(v); y[n + i] = cosf(v); y[2 * n + i] = tanf(v);
    sincosf(v + 1, &s, &c); y[3 * n + i] = s; y[4 * n + i] = c;
    y[5 * n + i] = sinpif(v); y[6 * n + i] = cospif(v); sincospif(v * 0.1f, &s, &c); y[7 * n + i] = s * c;
}
