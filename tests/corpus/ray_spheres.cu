// Rays against spheres: discriminants, nearest hit, a shade
//
// family: graphics
// kernel: trace
// grid: 2 2
// block: 16 8
// args: float[4,4] uniform 0.2 0.9; out uchar[16,32]

struct Sphere { float x, y, z, r; };
extern "C" __global__ void trace(const Sphere* s, unsigned char* image)
{
    int px = blockIdx.x * 16 + threadIdx.x, py = blockIdx.y * 8 + threadIdx.y;
    float ox = (px - 16) / 16.0f, oy = (py - 8) / 8.0f, best = 1e9f, shade = 0;
    for (int k = 0; k < 4; ++k) {
        float dx = ox - (s[k].x * 2 - 1), dy = oy - (s[k].y * 2 - 1), r = s[k].r * 0.5f;
        float d = r * r - dx * dx - dy * dy;
        if (d > 0) {
            float dz = sqrtf(d), t = 3.0f + s[k].z - dz;
            if (t < best) { best = t; shade = dz / r; }
        }
    }
    image[py * 32 + px] = (unsigned char)(shade * 255.0f);
}
