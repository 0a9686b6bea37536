// FFT of 256 complex numbers in shared memory, radix 2, twiddles by sincospif
//
// family: transform
// kernel: fft
// grid: 2
// block: 128
// args: float[2,256,2] uniform; out float[2,256,2]

extern "C" __global__ void fft(const float2 *in, float2 *out)
{
    __shared__ float2 s[256];
    const float2 *x = in + blockIdx.x * 256;
    for (int i = threadIdx.x; i < 256; i += 128) s[__brev(i) >> 24] = x[i];
    __syncthreads();
    for (int half = 1; half < 256; half *= 2) {
        int k = threadIdx.x & (half - 1);
        int a = 2 * (threadIdx.x - k) + k, b = a + half;
        float ws, wc;
        sincospif(-(float)k / half, &ws, &wc);
        float2 u = s[a], v = s[b];
        float2 t = make_float2(wc * v.x - ws * v.y, wc * v.y + ws * v.x);
        s[a] = make_float2(u.x + t.x, u.y + t.y);
        s[b] = make_float2(u.x - t.x, u.y - t.y);
        __syncthreads();
    }
    for (int i = threadIdx.x; i < 256; i += 128) out[blockIdx.x * 256 + i] = s[i];
}
