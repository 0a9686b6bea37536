// Complex multiplication, division and magnitude: which products the compiler fuses
//
// family: contraction
// kernel: complexes
// grid: 2
// block: 64
// args: float[128,2] uniform; float[128,2] uniform; out float[4,128,2]

extern "C" __global__ void complexes(const float2 *a, const float2 *b, float2 *r)
{
    int i = blockIdx.x * 64 + threadIdx.x; float2 x = a[i], y = b[i];
    r[i] = make_float2(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);
    float d = y.x * y.x + y.y * y.y;
    r[128 + i] = make_float2((x.x * y.x + x.y * y.y) / d, (x.y * y.x - x.x * y.y) / d);
    r[256 + i] = make_float2(x.x * x.x - x.y * x.y, 2.0f * x.x * x.y);
    r[384 + i] = make_float2(sqrtf(x.x * x.x + x.y * x.y), d - x.x * y.x);
}
