// Sparse matrix-vector product, CSR, a thread a row
//
// family: sparse
// kernel: spmv_csr
// grid: 2
// block: 32
// args: int 40; int[41] iota; int[120] below 40; float[120] uniform; float[40] uniform; out float[40]

extern "C" __global__ void spmv_csr(int n, const int *ptr, const int *col, const float *val,
                                    const float *x, float *y)
{
    int row = blockDim.x * blockIdx.x + threadIdx.x;
    if (row < n) {
        float dot = 0;
        int start = ptr[row] * 2 + row % 3, end = ptr[row + 1] * 2 + (row + 1) % 3;
        for (int j = start; j < end; j++) dot += val[j] * x[col[j]];
        y[row] = dot;
    }
}
