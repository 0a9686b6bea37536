// sqrt, rsqrt, cbrt, rcbrt, hypot, rhypot, norm3d in both widths
//
// family: math functions
// kernel: roots
// grid: 1
// block: 96
// approximate: 3 ulp
// args: float[96] uniform 0.001 1000; float[96] uniform -30 30; out float[7,96]; out double[6,96]

extern "C" __global__ void roots(const float *x, const float *y, float *f, double *d)
{
    int i = threadIdx.x, n = 96; float a = x[i], b = y[i]; double c = a, e = b;
    f[i] = sqrtf(a); f[n + i] = rsqrtf(a); f[2 * n + i] = cbrtf(b); f[3 * n + i] = rcbrtf(a); f[4 * n + i] = hypotf(a, b);
    f[5 * n + i] = rhypotf(a, b); f[6 * n + i] = norm3df(a, b, 2.0f);
    d[i] = sqrt(c); d[n + i] = rsqrt(c); d[2 * n + i] = cbrt(e); d[3 * n + i] = rcbrt(c); d[4 * n + i] = hypot(c, e);
    d[5 * n + i] = norm3d(c, e, 2.0);
}
