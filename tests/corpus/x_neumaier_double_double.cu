// Neumaier sums and double-double products, differences of rounding kept
//
// family: arithmetic
// kernel: exactish
// grid: 2
// block: 32
// args: float[40,25] uniform -1e6 1e6; double[40,4] uniform; out float[40,3]; out double[40,4]; int 40
struct dd { double hi, lo; };
__device__ dd two_sum(double a, double b) { double s = a + b, v = s - a; return {s, (a - (s - v)) + (b - v)}; }
__device__ dd two_prod(double a, double b) { double p = a * b; return {p, fma(a, b, -p)}; }
__device__ dd operator*(dd a, dd b) { dd p = two_prod(a.hi, b.hi); p.lo += a.hi * b.lo + a.lo * b.hi; double s = p.hi + p.lo; return {s, p.lo - (s - p.hi)}; }
__device__ dd operator+(dd a, dd b) { dd s = two_sum(a.hi, b.hi); s.lo += a.lo + b.lo; double t = s.hi + s.lo; return {t, s.lo - (t - s.hi)}; }
extern "C" __global__ void exactish(const float *x, const double *y, float *sums, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float plain = 0, kahan = 0, c = 0, sum = 0, comp = 0;
    for (int k = 0; k < 25; k++) {
        float v = x[i * 25 + k];
        plain += v;
        float yv = v - c, t = kahan + yv;
        c = (t - kahan) - yv;
        kahan = t;
        t = sum + v;
        if (fabsf(sum) >= fabsf(v)) comp += (sum - t) + v;
        else comp += (v - t) + sum;
        sum = t;
    }
    sums[3 * i] = plain; sums[3 * i + 1] = kahan; sums[3 * i + 2] = sum + comp;
    dd a = two_sum(y[4 * i], y[4 * i + 1] * 1e-17), b = two_prod(y[4 * i + 2], y[4 * i + 3]);
    dd p = a * b, q = p + dd{-p.hi, 1.0};
    out[4 * i] = p.hi; out[4 * i + 1] = p.lo; out[4 * i + 2] = q.hi; out[4 * i + 3] = q.lo;
}
