// Sparse matrix-vector product, CSR, a quarter of a warp for each row
//
// family: sparse
// kernel: spmv_vector
// grid: 2
// block: 64
// args: int[17] values 0 3 10 10 25 31 40 41 60 66 70 85 85 90 97 110 120; int[120] below 50; double[120] uniform; double[50] uniform; out double[16]

extern "C" __global__ void spmv_vector(const int *ptr, const int *col, const double *val,
                                       const double *x, double *y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, row = t / 8, lane = t % 8;
    double sum = 0;
    for (int j = ptr[row] + lane; j < ptr[row + 1]; j += 8) sum += val[j] * x[col[j]];
    for (int d = 4; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d, 8);
    if (lane == 0) y[row] = sum;
}
