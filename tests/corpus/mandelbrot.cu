// Mandelbrot set: escape times
//
// family: fractal
// kernel: mandelbrot
// grid: 3 2
// block: 16 16
// args: out int[30,45]; int 45; int 30; int 40

extern "C" __global__ void mandelbrot(int *image, int width, int height, int max_iter)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    float x0 = -2.0f + 3.0f * px / width, y0 = -1.0f + 2.0f * py / height, x = 0.0f, y = 0.0f;
    int iter = 0;
    while (x * x + y * y <= 4.0f && iter < max_iter) {
        float xt = x * x - y * y + x0;
        y = 2.0f * x * y + y0;
        x = xt;
        iter++;
    }
    image[py * width + px] = iter;
}
