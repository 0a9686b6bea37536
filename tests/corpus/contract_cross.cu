// Cross products, normals and areas of triangles
//
// family: contraction
// kernel: normals
// grid: 1
// block: 70
// args: float[70,9] uniform; out float[70,3]; out float[70]

__device__ inline float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__device__ inline float3 cross(float3 a, float3 b)
{ return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x); }
__device__ inline float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

extern "C" __global__ void normals(const float3 *tri, float3 *n, float *area)
{
    int i = threadIdx.x;
    float3 c = cross(tri[3 * i + 1] - tri[3 * i], tri[3 * i + 2] - tri[3 * i]);
    n[i] = c;
    area[i] = 0.5f * sqrtf(dot(c, c));
}
