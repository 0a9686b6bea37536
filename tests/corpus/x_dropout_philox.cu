// GELU and dropout with a counter-based generator
//
// family: machine learning
// kernel: gelu_dropout
// grid: 2
// block: 64
// approximate: 4 ulp
// args: float[437] uniform -3 3; out float[437]; out uchar[437]; int 437; float 0.25; ulong 1234567890123
__device__ uint4 philox(uint4 c, uint2 k)
{
#pragma unroll
    for (int r = 0; r < 7; ++r) {
        unsigned h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x;
        unsigned h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
        c = make_uint4(h1 ^ c.y ^ k.x, l1, h0 ^ c.w ^ k.y, l0);
        k.x += 0x9E3779B9u;
        k.y += 0xBB67AE85u;
    }
    return c;
}
extern "C" __global__ void gelu_dropout(const float *x, float *y, unsigned char *mask, int n, float p, unsigned long long seed)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    uint2 key = make_uint2((unsigned)seed, (unsigned)(seed >> 32));
    for (int base = 4 * t; base < n; base += 4 * gridDim.x * blockDim.x) {
        uint4 r = philox(make_uint4(base, 0, t, 7), key);
        unsigned rnd[4] = {r.x, r.y, r.z, r.w};
        for (int j = 0; j < 4; ++j) {
            int i = base + j;
            if (i >= n) break;
            float u = (rnd[j] >> 8) * (1.0f / 16777216.0f), v = x[i];
            bool keep = u >= p;
            float c = 0.044715f * v * v * v;
            float g = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + c)));
            y[i] = keep ? g / (1.0f - p) : 0.0f;
            mask[i] = keep;
        }
    }
}
