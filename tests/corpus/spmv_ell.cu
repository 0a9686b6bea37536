// Sparse matrix-vector product, ELL, columns of -1 are padding
//
// family: sparse
// kernel: spmv_ell
// grid: 3
// block: 32
// args: int[5,70] values 3 11 -1 0 60 7 -1 22 41 69 13; float[5,70] uniform; float[70] uniform; out float[70]; int 70

extern "C" __global__ void spmv_ell(const int* cols, const float* data, const float* x, float* y, int n)
{
    int r = threadIdx.x + blockIdx.x * blockDim.x;
    if (r >= n) return;
    float dot = 0.f;
    for (int k = 0; k < 5; k++) {
        int c = cols[k * n + r];
        if (c != -1) dot += data[k * n + r] * x[c];
    }
    y[r] = dot;
}
