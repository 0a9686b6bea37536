// Floyd-Steinberg by a row a thread, in a wavefront, and an ordered matrix
//
// family: image
// kernel: dither
// grid: 1
// block: 24
// args: float[24,30] uniform 0 1; out uchar[24,30]; int 30; int 24
__constant__ unsigned char bayer[4][4] = {{0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}};
extern "C" __global__ void dither(float *img, unsigned char *out, int w, int h)
{
    int y = threadIdx.x;
    for (int step = 0; step < w + 3 * h; ++step) {
        int x = step - 3 * y;
        if (x >= 0 && x < w) {
            float old = img[y * w + x];
            int v = old > 0.5f;
            float e = (old - v) / 16;
            if (x + 1 < w) img[y * w + x + 1] += 7 * e;
            if (y + 1 < h) {
                if (x > 0) img[(y + 1) * w + x - 1] += 3 * e;
                img[(y + 1) * w + x] += 5 * e;
                if (x + 1 < w) img[(y + 1) * w + x + 1] += e;
            }
            out[y * w + x] = v | (old * 16 > bayer[y & 3][x & 3]) << 1;
        }
        __syncthreads();
    }
}
