// Jacobi rotations that diagonalise 2x2 and 3x3 symmetric matrices
//
// family: linear algebra
// kernel: eig3
// grid: 2
// block: 20
// args: double[33,6] uniform; out double[33,3]; int 33
__device__ void rotate(double (&a)[3][3], int p, int q)
{
    if (fabs(a[p][q]) < 1e-300) return;
    double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
    double t = (theta >= 0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;
    for (int k = 0; k < 3; k++) {
        double x = a[k][p], y = a[k][q];
        a[k][p] = c * x - s * y;
        a[k][q] = s * x + c * y;
    }
    for (int k = 0; k < 3; k++) {
        double x = a[p][k], y = a[q][k];
        a[p][k] = c * x - s * y;
        a[q][k] = s * x + c * y;
    }
}
extern "C" __global__ void eig3(const double *A, double *w, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double *m = A + 6 * i;
    double a[3][3] = {{m[0], m[1], m[2]}, {m[1], m[3], m[4]}, {m[2], m[4], m[5]}};
    int sweep = 0;
    while (sweep++ < 8) {
        rotate(a, 0, 1);
        rotate(a, 0, 2);
        rotate(a, 1, 2);
        double off = a[0][1] * a[0][1] + a[0][2] * a[0][2] + a[1][2] * a[1][2];
        if (off < 1e-30) break;
    }
    double lo = fmin(a[0][0], fmin(a[1][1], a[2][2])), hi = fmax(a[0][0], fmax(a[1][1], a[2][2]));
    w[3 * i] = lo;
    w[3 * i + 1] = a[0][0] + a[1][1] + a[2][2] - lo - hi;
    w[3 * i + 2] = hi;
}
