// Special values through fmin, copysign, nextafter, ldexp, frexp, modf, remquo, logb and friends
//
// family: arithmetic
// kernel: special
// grid: 2
// block: 64
// args: float[128] specials; float[128] specials; out float[128,12]; out int[128,6]
extern "C" __global__ void special(const float *a, const float *b, float *f, int *k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i], y = b[(i * 5 + 3) % 128], ip;
    int e = 0, q = 0;
    float *o = f + 12 * i;
    o[0] = fminf(x, y); o[1] = fmaxf(x, y); o[2] = copysignf(x, y); o[3] = nextafterf(x, y);
    o[4] = ldexpf(x, (i % 40) * 8 - 160); o[5] = frexpf(x, &e); o[6] = modff(x, &ip); o[7] = ip;
    o[8] = logbf(x); o[9] = nearbyintf(x); o[10] = fdimf(x, y); o[11] = x < y ? x : y;
    if (!(isfinite(x) && isfinite(y) && y != 0)) { o[11] = 1.0f; }
    else if (fabsf(x) < 1e6f * fabsf(y)) { o[11] = remquof(x, y, &q); q &= 7; }
    int *p = k + 6 * i;
    p[0] = isfinite(x) && x != 0 ? e : 0; p[1] = q; p[2] = isfinite(x) && x != 0 ? ilogbf(x) : 0;
    p[3] = isnan(x) | isinf(x) << 1 | signbit(x) << 2;
    p[4] = fabsf(x) >= 1.17549435e-38f && isfinite(x); p[5] = (x == y) | (x < y) << 1 | (x != x) << 2 | !(x >= y) << 3;
}
