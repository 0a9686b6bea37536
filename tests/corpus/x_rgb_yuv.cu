// RGB to YUV and back in fixed point, packed three bytes a pixel
//
// family: image
// kernel: rgb_yuv
// grid: 3
// block: 96
// args: uchar[250,3] bits; out uchar[250,3]; out uchar[250,3]; int 250
struct uc3 { unsigned char r, g, b; };
__device__ static inline unsigned char clip(int v) { return v < 0 ? 0 : v > 255 ? 255 : v; }
extern "C" __global__ void rgb_yuv(const uc3 *rgb, uc3 *yuv, uc3 *back, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uc3 p = rgb[i], q, b;
        q.r = clip(((66 * p.r + 129 * p.g + 25 * p.b + 128) >> 8) + 16);
        q.g = clip(((-38 * p.r - 74 * p.g + 112 * p.b + 128) >> 8) + 128);
        q.b = clip(((112 * p.r - 94 * p.g - 18 * p.b + 128) >> 8) + 128);
        yuv[i] = q;
        int c = q.r - 16, d = q.g - 128, e = q.b - 128;
        b.r = clip((298 * c + 409 * e + 128) >> 8);
        b.g = clip((298 * c - 100 * d - 208 * e + 128) >> 8);
        b.b = clip((298 * c + 516 * d + 128) >> 8);
        back[i] = b;
    }
}
