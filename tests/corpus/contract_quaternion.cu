// Quaternion products and a rotation of vectors
//
// family: contraction
// kernel: rotate
// grid: 2
// block: 40
// args: float[80,4] uniform; float[80,3] uniform; out float[80,3]; out float[80,4]

struct Quaternion { float w, x, y, z; };
__device__ Quaternion mul(const Quaternion& a, const Quaternion& b) {
    return {a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
            a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
            a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
            a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}
extern "C" __global__ void rotate(const Quaternion *q, const float3 *v, float3 *out, Quaternion *square)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Quaternion a = q[i], p{0.f, v[i].x, v[i].y, v[i].z}, c{a.w, -a.x, -a.y, -a.z};
    Quaternion r = mul(mul(a, p), c);
    out[i] = make_float3(r.x, r.y, r.z);
    square[i] = mul(a, a);
}
