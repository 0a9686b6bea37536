// Sobel edges of an image of bytes, integer arithmetic and saturation
//
// family: convolution
// kernel: sobel
// grid: 3 3
// block: 16 16
// args: uchar[40,40] bits; out uchar[40,40]; int 40

extern "C" __global__ void sobel(const unsigned char *p, unsigned char *q, int n)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= n || y >= n) return;
    int r = 0;
    if (x > 0 && y > 0 && x < n - 1 && y < n - 1) {
        const unsigned char *c = p + y * n + x;
        int gx = c[1 - n] + 2 * c[1] + c[1 + n] - c[-1 - n] - 2 * c[-1] - c[n - 1];
        int gy = c[n - 1] + 2 * c[n] + c[n + 1] - c[-n - 1] - 2 * c[-n] - c[1 - n];
        r = abs(gx) + abs(gy);
    }
    q[y * n + x] = r > 255 ? 255 : r;
}
