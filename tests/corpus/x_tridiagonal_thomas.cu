// Tridiagonal systems by Thomas's algorithm in double, interleaved, a system a thread
//
// family: linear algebra
// kernel: thomas
// grid: 2
// block: 16
// args: double[12,25] uniform; double[12,25] uniform 3 4; double[12,25] uniform; double[12,25] uniform; out double[12,25]; int 12; int 25
extern "C" __global__ void thomas(const double* __restrict__ a, const double* __restrict__ b,
    const double* __restrict__ c, double* __restrict__ d, double* __restrict__ cp, int n, int m)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s < m) {
        #define AT(v, k) v[(k) * m + s]
        AT(cp, 0) = AT(c, 0) / AT(b, 0);
        AT(d, 0) /= AT(b, 0);
        for (int k = 1; k < n; k++) {
            double w = 1.0 / (AT(b, k) - AT(a, k) * AT(cp, k - 1));
            AT(cp, k) = AT(c, k) * w;
            AT(d, k) = (AT(d, k) - AT(a, k) * AT(d, k - 1)) * w;
        }
        for (int k = n - 2; k >= 0; --k)
            AT(d, k) -= AT(cp, k) * AT(d, k + 1);
        #undef AT
    }
}
