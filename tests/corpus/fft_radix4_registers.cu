// FFT of 4 points a thread, twiddles from a table: bits have to agree
//
// family: transform
// kernel: fft4
// grid: 2
// block: 64
// args: float[128,8] uniform; out float[128,8]; float[6] values 1 0 0.70710678 -0.70710678 0 -1

struct cplx { float re, im; };
__device__ __forceinline__ cplx operator+(cplx a, cplx b) { return {a.re + b.re, a.im + b.im}; }
__device__ __forceinline__ cplx operator-(cplx a, cplx b) { return {a.re - b.re, a.im - b.im}; }
__device__ __forceinline__ cplx operator*(cplx a, cplx b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

extern "C" __global__ void fft4(const cplx* in, cplx* out, const cplx* w)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    cplx v[4];
    for (int k = 0; k < 4; ++k) v[k] = in[4 * i + k] * w[k % 3];
    cplx a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3], d = v[1] - v[3];
    cplx e{d.im, -d.re};
    out[4 * i] = a + c; out[4 * i + 1] = b + e; out[4 * i + 2] = a - c; out[4 * i + 3] = b - e;
}
