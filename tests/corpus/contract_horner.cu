// Horner's scheme, Clenshaw's, and a polynomial by its powers
//
// family: contraction
// kernel: polynomials
// grid: 1
// block: 64
// args: float[64] uniform -2 2; out float[3,64]; out double[64]

extern "C" __global__ void polynomials(const float *x, float *y, double *z)
{
    const float c[6] = {1.f, -0.5f, 0.25f, 0.125f, -0.0625f, 3.f};
    int i = threadIdx.x; float v = x[i];
    float h = 0.f;
    for (int k = 5; k >= 0; --k) h = h * v + c[k];
    float b1 = 0, b2 = 0;
    for (int k = 5; k > 0; --k) { float b = 2 * v * b1 - b2 + c[k]; b2 = b1; b1 = b; }
    float p = 1, s = 0;
    for (int k = 0; k < 6; ++k) { s += c[k] * p; p *= v; }
    y[i] = h; y[64 + i] = v * b1 - b2 + c[0]; y[128 + i] = s;
    double d = v; z[i] = ((d * 0.1 + 0.2) * d - 0.3) * d + 0.4;
}
