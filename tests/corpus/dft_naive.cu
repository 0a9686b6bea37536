// Discrete Fourier transform by its definition, with cosf and sinf
//
// family: transform
// kernel: dft
// grid: 2
// block: 50
// args: float[100] uniform; out float[100]; out float[100]; int 100

extern "C" __global__ void dft(const float* x, float* re, float* im, int N)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= N) return;
    float sr = 0, si = 0;
    for (int n = 0; n < N; n++) {
        float angle = -2.0f * 3.14159265358979f * k * n / N;
        sr += x[n] * cosf(angle);
        si += x[n] * sinf(angle);
    }
    re[k] = sr; im[k] = si;
}
