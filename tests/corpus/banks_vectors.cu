// float2 and float4 in shared memory, straight, strided and broadcast
//
// family: banks
// kernel: vectors
// grid: 1
// block: 64
// args: float[64,4] uniform; out float[64,4]; out float[64,2]

extern "C" __global__ void vectors(const float4 *x, float4 *y, float2 *z)
{
    __shared__ float4 a[64];
    __shared__ float2 b[128];
    int t = threadIdx.x;
    a[t] = x[t];
    b[2 * t] = make_float2(x[t].x, x[t].y);
    b[2 * t + 1] = make_float2(x[t].z, x[t].w);
    __syncthreads();
    float4 u = a[(t * 5) & 63], v = a[t / 8];
    y[t] = make_float4(u.x + v.w, u.y + v.z, u.z + v.y, u.w + v.x);
    float2 p = b[(t * 3) & 127], q = b[t >> 2];
    z[t] = make_float2(p.x - q.y, p.y - q.x);
}
