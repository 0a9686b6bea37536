// Cholesky factorisation of a small matrix
//
// family: linear algebra
// kernel: cholesky
// grid: 1
// block: 24
// args: double[24,24] uniform 0 1; int 24

extern "C" __global__ void cholesky(double* A, int n)
{
    int i = threadIdx.x;
    A[i * n + i] += n;
    __syncthreads();
    for (int k = 0; k < n; ++k) {
        if (i == k) A[k * n + k] = sqrt(A[k * n + k]);
        __syncthreads();
        if (i > k) A[i * n + k] /= A[k * n + k];
        __syncthreads();
        if (i > k)
            for (int j = k + 1; j <= i; ++j) A[i * n + j] -= A[i * n + k] * A[j * n + k];
        __syncthreads();
    }
}
