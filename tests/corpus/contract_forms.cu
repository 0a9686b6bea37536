// x - a*b, a*b - x, a product used twice, two products, sums in a row, in float and double
//
// family: contraction
// kernel: forms
// grid: 1
// block: 96
// args: float[96] uniform; float[96] uniform; float[96] uniform; out float[8,96]; out double[6,96]

template <class T> __device__ void each(T a, T b, T c, T *r, int n)
{
    r[0] = c - a * b;
    r[n] = a * b - c;
    T p = a * b;
    r[2 * n] = p + c;
    r[3 * n] = p - c * p;
    r[4 * n] = a * b + b * c;
    r[5 * n] = a * b - b * c;
}
extern "C" __global__ void forms(const float *a, const float *b, const float *c, float *f, double *d)
{
    int i = threadIdx.x;
    each(a[i], b[i], c[i], f + i, 96);
    each((double)a[i], (double)b[i] * 1.1, (double)c[i] / 3, d + i, 96);
    f[576 + i] = a[i] * b[i] + b[i] * c[i] + c[i] * a[i];
    f[672 + i] = -(a[i] * b[i]) - c[i];
}
