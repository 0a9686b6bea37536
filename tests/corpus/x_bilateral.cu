// Bilateral filter with fast exponentials, clamped borders
//
// family: image
// kernel: bilateral
// grid: 2 2
// block: 16 8
// args: float[13,27] uniform 0 1; out float[13,27]; int 27; int 13; float 1.5; float 0.2
// options: -use_fast_math
// approximate: 1e-5 relative
extern "C" __global__ void bilateral(const float *in, float *out, int w, int h, float sd, float sr)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float centre = in[y * w + x], sum = 0, norm = 0;
    for (int dy = -2; dy <= 2; ++dy) {
        for (int dx = -2; dx <= 2; ++dx) {
            int xx = min(max(x + dx, 0), w - 1), yy = min(max(y + dy, 0), h - 1);
            float v = in[yy * w + xx], d = v - centre;
            float g = __expf(-(dx * dx + dy * dy) / (2 * sd * sd)) * __expf(-d * d / (2 * sr * sr));
            sum += g * v;
            norm += g;
        }
    }
    out[y * w + x] = sum / norm;
}
