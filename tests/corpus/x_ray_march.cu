// Ray marching of a signed distance field: sphere and plane, smooth union
//
// family: graphics
// kernel: march
// grid: 2 2
// block: 16 8
// args: out float[14,25]; out int[14,25]; int 25; int 14
struct Vec {
    float x, y, z;
    __device__ Vec operator+(Vec o) const { return {x + o.x, y + o.y, z + o.z}; }
    __device__ Vec operator*(float s) const { return {x * s, y * s, z * s}; }
    __device__ float length() const { return sqrtf(x * x + y * y + z * z); }
    __device__ Vec unit() const { return *this * (1.0f / length()); }
};
__device__ float smin(float a, float b, float k)
{
    float h = fminf(fmaxf(0.5f + 0.5f * (b - a) / k, 0.0f), 1.0f);
    return b + (a - b) * h - k * h * (1.0f - h);
}
__device__ float field(Vec p)
{
    float sphere = (p + Vec{0, -0.5f, -3}).length() - 1.0f, plane = p.y + 0.8f;
    return smin(sphere, plane, 0.3f);
}
extern "C" __global__ void march(float *depth, int *steps, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    Vec dir = Vec{(x + 0.5f) / w - 0.5f, 0.5f - (y + 0.5f) / h, 1.0f}.unit(), at{0, 0, 0};
    float t = 0;
    int n = 0;
    while (true) {
        float d = field(at + dir * t);
        if (d < 1e-3f || t > 20.0f) break;
        t += d;
        if (++n == 40) break;
    }
    depth[y * w + x] = t > 20.0f ? -1.0f : t;
    steps[y * w + x] = n;
}
