// Mandelbrot in double on a 2-D grid, ragged, with escape smoothed
//
// family: fractal
// kernel: mandel
// grid: 3 2
// block: 8 8
// args: out float[13,21]; out ushort[13,21]; int 21; int 13; double -2.2; double -1.2; double 3.2
// approximate: 1e-5 relative
extern "C" __global__ void mandel(float *smooth, unsigned short *count, int w, int h, double x0, double y0, double span)
{
    const int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= w || py >= h) return;
    const double cx = x0 + span * px / w, cy = y0 + span * py / w;
    double x = 0, y = 0, x2 = 0, y2 = 0;
    unsigned short k = 0;
    for (; k < 150 && x2 + y2 <= 16.0; ++k) {
        y = 2 * x * y + cy;
        x = x2 - y2 + cx;
        x2 = x * x;
        y2 = y * y;
    }
    count[py * w + px] = k;
    smooth[py * w + px] = k == 150 ? 0.0f : k + 1 - log2f(0.5f * logf((float)(x2 + y2)));
}
