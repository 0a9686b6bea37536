// LU factorisation without pivoting, in shared memory
//
// family: linear algebra
// kernel: lu
// grid: 2
// block: 16 16
// args: float[2,16,16] uniform 1 2; float[2,16] constant 20

extern "C" __global__ void lu(float *A, const float *diagonal)
{
    __shared__ float a[16][17];
    int i = threadIdx.y, j = threadIdx.x;
    float *mine = A + blockIdx.x * 256;
    a[i][j] = mine[i * 16 + j] + (i == j ? diagonal[blockIdx.x * 16 + i] : 0.f);
    __syncthreads();
    for (int k = 0; k < 15; ++k) {
        if (j == k && i > k) a[i][k] /= a[k][k];
        __syncthreads();
        if (i > k && j > k) a[i][j] -= a[i][k] * a[k][j];
        __syncthreads();
    }
    mine[i * 16 + j] = a[i][j];
}
