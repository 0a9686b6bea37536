// Row convolution of an image of float4 pixels
//
// family: convolution
// kernel: blurRows
// grid: 2 10
// block: 32
// args: float[10,50,4] uniform 0 1; out float[10,50,4]; int 50

extern "C" __global__ void blurRows(const float4* src, float4* dst, int w)
{
    const float k[3] = {0.5f, 0.1875f, 0.0625f};
    int x = blockIdx.x * 32 + threadIdx.x;
    if (x >= w) return;
    const float4* row = src + blockIdx.y * w;
    float4 c = row[x];
    float4 s = make_float4(c.x * k[0], c.y * k[0], c.z * k[0], c.w);
#pragma unroll
    for (int d = 1; d < 3; ++d) {
        float4 l = row[max(x - d, 0)], r = row[min(x + d, w - 1)];
        s.x += k[d] * (l.x + r.x); s.y += k[d] * (l.y + r.y); s.z += k[d] * (l.z + r.z);
    }
    dst[blockIdx.y * w + x] = s;
}
