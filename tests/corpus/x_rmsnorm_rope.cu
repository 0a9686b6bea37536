// RMS norm, then rotary embedding, of rows of a float16 matrix
//
// family: machine learning
// kernel: rms_rope
// grid: 7
// block: 32
// args: half[7,48] uniform; float[48] uniform 0.5 1.5; out half[7,48]; int 48; float 1e-5
// headers: cuda_fp16.h
// approximate: 2e-3 absolute
#include <cuda_fp16.h>
extern "C" __global__ void rms_rope(const __half *x, const float *w, __half *y, int d, float eps)
{
    int row = blockIdx.x, lane = threadIdx.x;
    const __half2 *x2 = reinterpret_cast<const __half2 *>(x + row * d);
    __half2 *y2 = reinterpret_cast<__half2 *>(y + row * d);
    float ss = 0.f;
    for (int i = lane; i < d / 2; i += 32) {
        float2 v = __half22float2(x2[i]);
        ss += v.x * v.x + v.y * v.y;
    }
    for (int o = 16; o > 0; o >>= 1) ss += __shfl_xor_sync(0xffffffff, ss, o, 32);
    float scale = rsqrtf(ss / d + eps);
    for (int i = lane; i < d / 2; i += 32) {
        float2 v = __half22float2(x2[i]);
        v.x *= scale * w[2 * i];
        v.y *= scale * w[2 * i + 1];
        float theta = row * powf(10000.f, -2.f * i / d), s, c;
        sincosf(theta, &s, &c);
        y2[i] = __floats2half2_rn(v.x * c - v.y * s, v.x * s + v.y * c);
    }
}
