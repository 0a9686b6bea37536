// Gradient, its direction in four sectors and non-maximum suppression
//
// family: image
// kernel: canny
// grid: 2 2
// block: 16 12
// args: float[20,29] uniform 0 255; out float[20,29]; out uchar[20,29]; int 29; int 20
enum Dir : unsigned char { EW, NE, NS, NW };
extern "C" __global__ void canny(const float *img, float *out, Dir *dir, int w, int h)
{
    __shared__ float mag[14][18];
    const int gx = blockIdx.x * 16 + threadIdx.x - 1, gy = blockIdx.y * 12 + threadIdx.y - 1;
    Dir d = EW;
    auto at = [=](int x, int y) { return img[max(0, min(h - 1, y)) * w + max(0, min(w - 1, x))]; };
    auto grad = [&](int x, int y, float &dx, float &dy) {
        dx = at(x + 1, y - 1) + 2 * at(x + 1, y) + at(x + 1, y + 1) - at(x - 1, y - 1) - 2 * at(x - 1, y) - at(x - 1, y + 1);
        dy = at(x - 1, y + 1) + 2 * at(x, y + 1) + at(x + 1, y + 1) - at(x - 1, y - 1) - 2 * at(x, y - 1) - at(x + 1, y - 1);
    };
    for (int ty = threadIdx.y; ty < 14; ty += 12)
        for (int tx = threadIdx.x; tx < 18; tx += 16) {
            float dx, dy;
            grad(gx - threadIdx.x + tx, gy - threadIdx.y + ty, dx, dy);
            mag[ty][tx] = sqrtf(dx * dx + dy * dy);
        }
    __syncthreads();
    int x = gx + 1, y = gy + 1, lx = threadIdx.x + 1, ly = threadIdx.y + 1;
    if (x >= w || y >= h) return;
    float dx, dy;
    grad(x, y, dx, dy);
    float ax = fabsf(dx), ay = fabsf(dy);
    if (ay <= 0.41421356f * ax) d = EW;
    else if (ay >= 2.4142136f * ax) d = NS;
    else d = (dx > 0) == (dy > 0) ? NW : NE;
    float m = mag[ly][lx], a, b;
    switch (d) {
    case EW: a = mag[ly][lx - 1]; b = mag[ly][lx + 1]; break;
    case NS: a = mag[ly - 1][lx]; b = mag[ly + 1][lx]; break;
    case NW: a = mag[ly - 1][lx - 1]; b = mag[ly + 1][lx + 1]; break;
    default: a = mag[ly - 1][lx + 1]; b = mag[ly + 1][lx - 1];
    }
    out[y * w + x] = m >= a && m > b ? m : 0.0f;
    dir[y * w + x] = d;
}
