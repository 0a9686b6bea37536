// The option -ftz=true: subnormal inputs and results become zero, signs stay
//
// family: float
// kernel: flush
// grid: 1
// block: 64
// options: -ftz=true
// args: float[64] specials; float[64] uniform -1e-38 1e-38; out float[5,64]

extern "C" __global__ void flush(const float *x, const float *y, float *r)
{
    int i = threadIdx.x; float a = x[i], b = y[i];
    a = a == a ? a : 0.0f;
    r[i] = a + b; r[64 + i] = b * 0.25f; r[128 + i] = fmaf(b, 0.5f, b); r[192 + i] = fminf(a, b); r[256 + i] = b - b * 1.0001f;
}
