// float2, float4, uchar4, int4 and double2 in one kernel
//
// family: memory
// kernel: vec
// grid: 2
// block: 48
// args: float[360] uniform; uchar[360] bits; int[360] below 5000; double[180] uniform; out float[180]; out uchar[360]; out int[90]; out double[180]; int 90
inline __device__ float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
inline __device__ float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
inline __device__ void operator+=(int4 &a, int4 b) { a.x += b.x; a.y += b.y; a.z += b.z; a.w += b.w; }

extern "C" __global__ void vec(const float4 *f, const uchar4 *c, const int4 *k, const double2 *d,
                               float2 *of, uchar4 *oc, int *ok, double2 *od, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 v = f[i];
    float2 lo = {v.x, v.y}, hi = {v.z, v.w};
    float2 s = lo + hi;
    s.x = dot(v, f[n - 1 - i]);
    of[i] = s;
    uchar4 u = c[i], w = c[(i * 7) % n];
    u.x = min(u.x + w.x, 255);          // saturate
    u.y = (unsigned char)(u.y + w.y);   // wrap
    u.z = u.z > w.z ? u.z - w.z : 0;
    u.w ^= w.w;
    oc[i] = u;
    int4 a = k[i];
    for (int j = 1; j < 4; ++j) a += k[(i + j) % n];
    ok[i] = a.x - a.y + a.z - a.w;
    double2 z = d[i];
    od[i] = make_double2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y);
}
