// floor, ceil, trunc, rint, round, nearbyint, lrint, modf, frexp, ldexp in both widths
//
// family: float
// kernel: rounds
// grid: 1
// block: 64
// args: float[64] uniform -9 9; double[64] uniform -9 9; out float[9,64]; out double[8,64]; out int[3,64]

extern "C" __global__ void rounds(const float *x, const double *y, float *f, double *g, int *n)
{
    int i = threadIdx.x, e; float a = i & 1 ? x[i] : rintf(x[i]) + 0.5f, w; double b = y[i], v;
    f[i] = floorf(a); f[64 + i] = ceilf(a); f[128 + i] = truncf(a); f[192 + i] = rintf(a); f[256 + i] = roundf(a);
    f[320 + i] = nearbyintf(a); f[384 + i] = modff(a, &w); f[384 + i] += 10 * w; f[448 + i] = ldexpf(a, i - 32); f[512 + i] = __saturatef(a);
    g[i] = floor(b); g[64 + i] = ceil(b); g[128 + i] = trunc(b); g[192 + i] = rint(b); g[256 + i] = round(b);
    g[320 + i] = modf(b, &v); g[320 + i] *= v; g[384 + i] = frexp(b, &e); g[448 + i] = scalbn(b, -i);
    n[i] = e; n[64 + i] = lrintf(a); n[128 + i] = (int)llround(b) + ilogbf(a);
}
