// Rows quantised to int8 by their largest, and back
//
// family: machine learning
// kernel: quant
// grid: 6
// block: 64
// args: float[6,101] uniform -5 5; out char[6,101]; out float[6]; out float[6,101]; int 101
extern "C" __global__ void quant(const float *x, signed char *q, float *scale, float *back, int n)
{
    __shared__ int amax;
    if (threadIdx.x == 0) amax = 0;
    __syncthreads();
    x += blockIdx.x * n; q += blockIdx.x * n; back += blockIdx.x * n;
    float m = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) m = fmaxf(m, fabsf(x[i]));
    atomicMax(&amax, __float_as_int(m));
    __syncthreads();
    float s = __int_as_float(amax) / 127.f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int v = __float2int_rn(x[i] / s);
        v = max(-127, min(127, v));
        q[i] = (signed char)v;
        back[i] = q[i] * s;
    }
    if (threadIdx.x == 0) scale[blockIdx.x] = s;
}
