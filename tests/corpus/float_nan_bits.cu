// NaN through every kind of operation on floats: the bits that come out
//
// family: float
// kernel: nans
// grid: 1
// block: 64
// args: float[64] specials; float[64] specials; out float[14,64]; out int[3,64]

extern "C" __global__ void nans(const float *x, const float *y, float *r, int *n)
{
    int i = threadIdx.x; float a = x[i], b = y[(i * 7 + 3) & 63];
    r[i] = a + b; r[64 + i] = a - b; r[128 + i] = a * b; r[192 + i] = a / b;
    r[256 + i] = fmaf(a, b, a); r[320 + i] = fminf(a, b); r[384 + i] = fmaxf(a, b);
    r[448 + i] = sqrtf(a); r[512 + i] = -a; r[576 + i] = fabsf(a); r[640 + i] = floorf(a);
    r[704 + i] = (float)(double)a; r[768 + i] = copysignf(a, b); r[832 + i] = a < b ? a : b;
    n[i] = (int)a; n[64 + i] = (unsigned)b; n[128 + i] = __float_as_int(a) ^ (a != a) ^ (a <= b) * 4;
}
