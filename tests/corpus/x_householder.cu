// A Householder reflection of the columns of a matrix in double
//
// family: linear algebra
// kernel: reflect
// grid: 3
// block: 32
// args: double[20,9] uniform; out double[20,9]; int 20; int 9
extern "C" __global__ void reflect(const double *A, double *B, int m, int n)
{
    int col = blockIdx.x + threadIdx.y;
    int lane = threadIdx.x;
    double v = lane < m ? A[lane * n] : 0.0;
    double norm = v * v;
    for (int o = 16; o > 0; o /= 2) norm += __shfl_xor_sync(0xffffffffu, norm, o);
    double x0 = __shfl_sync(0xffffffffu, v, 0);
    double alpha = copysign(sqrt(norm), x0);
    if (lane == 0) v += alpha;
    double vv = norm + alpha * alpha + 2.0 * alpha * x0;
    for (; col < n; col += gridDim.x) {
        double a = lane < m ? A[lane * n + col] : 0.0, d = v * a;
        #pragma unroll
        for (int o = 16; o > 0; o /= 2) d += __shfl_xor_sync(~0u, d, o);
        if (lane < m) B[lane * n + col] = a - 2.0 * d / vv * v;
    }
}
