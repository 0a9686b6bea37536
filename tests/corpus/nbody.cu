// All pairs of an N-body system through tiles in shared memory
//
// family: particles
// kernel: nbody
// grid: 2
// block: 32
// approximate: 1e-5 relative
// args: float[64,4] uniform 0.1 1; out float[64,3]; int 64

extern "C" __global__ void nbody(const float4 *body, float3 *accel, int n)
{
    __shared__ float4 tile[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = body[i];
    float3 a = {0.0f, 0.0f, 0.0f};
    for (int start = 0; start < n; start += blockDim.x) {
        tile[threadIdx.x] = body[start + threadIdx.x];
        __syncthreads();
#pragma unroll 4
        for (int j = 0; j < 32; j++) {
            float4 o = tile[j];
            float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z;
            float d2 = dx * dx + dy * dy + dz * dz + 0.01f;
            float inv = rsqrtf(d2), s = o.w * inv * inv * inv;
            a.x += dx * s; a.y += dy * s; a.z += dz * s;
        }
        __syncthreads();
    }
    accel[i] = a;
}
