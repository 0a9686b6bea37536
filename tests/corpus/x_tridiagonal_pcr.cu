// Tridiagonal systems by parallel cyclic reduction
//
// family: linear algebra
// kernel: pcr
// grid: 3
// block: 61
// args: float[3,61] uniform; float[3,61] uniform 3 4; float[3,61] uniform; float[3,61] uniform; out float[3,61]
#define MAXN 64
extern "C" __global__ void pcr(const float *la, const float *lb, const float *lc, const float *ld, float *x)
{
    __shared__ float a[MAXN], b[MAXN], c[MAXN], d[MAXN];
    const int n = blockDim.x, i = threadIdx.x, g = blockIdx.x * n + i;
    a[i] = i ? la[g] : 0.f;  b[i] = lb[g];  c[i] = i < n - 1 ? lc[g] : 0.f;  d[i] = ld[g];
    __syncthreads();
    for (int s = 1; s < n; s *= 2) {
        float na, nb, nc, nd;
        int l = i - s, r = i + s;
        float al = 0, cl = 0, dl = 0, bl = 1, ar = 0, cr = 0, dr = 0, br = 1;
        if (l >= 0) { al = a[l]; bl = b[l]; cl = c[l]; dl = d[l]; }
        if (r < n)  { ar = a[r]; br = b[r]; cr = c[r]; dr = d[r]; }
        float k1 = a[i] / bl, k2 = c[i] / br;
        na = -al * k1;
        nb = b[i] - cl * k1 - ar * k2;
        nc = -cr * k2;
        nd = d[i] - dl * k1 - dr * k2;
        __syncthreads();
        a[i] = na; b[i] = nb; c[i] = nc; d[i] = nd;
        __syncthreads();
    }
    x[g] = d[i] / b[i];
}
